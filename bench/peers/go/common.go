// Package peers holds what the Go programs share: flags, lines of a file, and the line of JSON that says what happened.
package peers

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"net/http"
	"os"
	"runtime"
	"time"
)

// Options are those that every loader here has.
type Options struct {
	URL, Index string
	Files      []string
	Workers    int
	FlushBytes int
	// Whether documents get their line numbers as ids, so that one that is sent twice is there once.
	IDs bool
	// Whether replies come as short and plain as the library allows.
	Lean bool
}

// Transport asks for replies that are not compressed.
func (options Options) Transport() http.RoundTripper {
	if !options.Lean {
		return nil
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.DisableCompression = true
	transport.MaxIdleConnsPerHost = options.Workers
	return transport
}

// Parse reads the flags. The defaults are the libraries' own.
func Parse(flushBytes int) Options {
	var options Options
	flag.StringVar(&options.URL, "to", "http://127.0.0.1:9200", "the cluster")
	flag.StringVar(&options.Index, "index", "bench", "the index")
	flag.IntVar(&options.Workers, "workers", runtime.NumCPU(), "requests in flight")
	flag.IntVar(&options.FlushBytes, "flush-bytes", flushBytes, "bytes of a request")
	flag.BoolVar(&options.IDs, "ids", false, "line numbers as ids")
	flag.BoolVar(&options.Lean, "lean", false, "replies that are not compressed and, where the library can, without what is not needed")
	flag.Parse()
	options.Files = flag.Args()
	if len(options.Files) == 0 {
		Fail(fmt.Errorf("no files given"))
	}
	return options
}

// Lines calls back with each line of the files, without its end. The bytes are only valid during the call.
func Lines(files []string, each func(line []byte) error) error {
	for _, name := range files {
		file, err := os.Open(name)
		if err != nil {
			return err
		}
		lines := bufio.NewScanner(bufio.NewReaderSize(file, 1<<20))
		lines.Buffer(make([]byte, 1<<20), 128<<20)
		for lines.Scan() {
			if len(lines.Bytes()) == 0 {
				continue
			}
			if err := each(lines.Bytes()); err != nil {
				file.Close()
				return err
			}
		}
		file.Close()
		if err := lines.Err(); err != nil {
			return err
		}
	}
	return nil
}

// Report is printed at the end, as one line of JSON.
type Report struct {
	Sent    uint64  `json:"docs_sent"`
	Indexed uint64  `json:"docs_indexed"`
	Failed  uint64  `json:"docs_failed"`
	Seconds float64 `json:"seconds"`
}

// Print writes the report.
func (r Report) Print(began time.Time) {
	r.Seconds = time.Since(began).Seconds()
	if err := json.NewEncoder(os.Stdout).Encode(r); err != nil {
		Fail(err)
	}
}

// Fail ends the program.
func Fail(err error) {
	fmt.Fprintln(os.Stderr, "error:", err)
	os.Exit(1)
}
