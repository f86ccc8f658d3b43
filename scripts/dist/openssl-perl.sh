#!/bin/sh
# Stands for perl while OpenSSL is compiled (OPENSSL_SRC_PERL), so that the program has no folder of
# the machine that builds it: OpenSSL writes down where it was installed, to look for engines and
# modules there, and the path of the compiler. Usage: openssl-perl.sh ./Configure [ARGUMENT…]
set -eu
perl "$@"
perl -i -pe '
  $changed += s|^((?:ENGINES\|MODULES)DIR=)\$\(libdir\)|$1/usr/local/lib|;
  $changed += s|(mkbuildinf\.pl ")\$\(CC\) |$1cc |;
  END { die "openssl-perl.sh: the Makefile of this OpenSSL is another one\n" if $changed != 3 }
' Makefile
