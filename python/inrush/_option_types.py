"""The options of a load as keyword arguments. Made by `inrush reference python`; a test holds it equal."""

from __future__ import annotations

import datetime
import os
from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypedDict


class LoadOptions(TypedDict, total=False):
    """The options of `inrush.load` and its like. None is as if an option was not given."""

    from_dead_letters: str | os.PathLike[str] | None
    """Load the documents of a dead-letter file again, instead of a SOURCE."""

    format: Literal["ndjson", "csv", "tsv", "text", "json", "hits", "parquet", "arrow", "avro", "excel", "smile", "bulk"] | None
    """Format of the sources. Default: told from the first bytes of each ({ is ndjson, or json where a
    value goes over several lines, [ is json; Parquet, Arrow, Avro, workbooks) and the ending of its
    name (.ndjson, .jsonl, .json; .csv, .tsv, .psv; .txt, .log are text); "ndjson": one JSON object a
    line; "csv": cells separated by commas, or by separator; "tsv": cells separated by tabs; "text":
    each line is a document with one field, field; "json": JSON values, one after another: each is a
    document, over any lines; of an array, each element is; "hits": the same values, which are search
    hits: of the reply to a search (with records='hits.hits'), or as elasticdump writes them; the
    document is `_source`, its id `_id`; "parquet": Parquet; "arrow": Arrow IPC, stream or file, also
    Feather V2; "avro": Avro; "excel": a sheet of a workbook: .xlsx, .xlsm, .xlsb, .xls or .ods;
    "smile": SMILE documents, each followed by 0xFF, as `inrush convert` writes them; "bulk": bodies of
    bulk requests: action lines and documents; what an action line says wins over the options."""

    records: str | None
    """JSON: the field with the documents, where they are inside of an object: an array, as in features,
    hits.hits, or as a JSON pointer (/a.b/c). It is read as it comes, however long. Default: each value
    is a document, and each element of an array."""

    field: str | None
    """Text: the field that holds each line. Default: message."""

    parse: Literal["combined", "common"] | None
    """Text: each line is one of a web server's access log; its parts become fields. A line of another
    form is a dead letter; "combined": the format `combined` of Apache and nginx; "common": the same
    without referrer and agent."""

    parse_regex: str | None
    """Text: the named groups of a regular expression become fields, as in '^(?<level>\\w+)
    (?<text>.*)'; types from schema. A line that does not match is a dead letter."""

    fixed_width: str | Sequence[str] | None
    """Text: columns of fixed width, in characters from 1, as in id:1-8,name:9-40,rest:41-; types from
    schema."""

    separator: str | None
    """CSV: what separates cells, one ASCII character, or `tab`. Default: a comma, a tab with
    format='tsv'."""

    quote: str | None
    """CSV: what encloses cells that hold separators, one ASCII character, or `none`. Default: " ."""

    escape: str | None
    """CSV: what takes the meaning of a quote, separator, line end or itself after it, one ASCII
    character, as in '\\' for MySQL's exports; \\N without quotes is an empty cell then. Default: none,
    a quote inside of quotes is doubled."""

    sheet: str | None
    """Workbooks: the sheet, by name or number from 1. Default: the first one that is not hidden."""

    header_row: int | None
    """Workbooks: the row that has the names of the columns, from 1; rows above it are left out.
    Default: the first one that is not empty."""

    workbook_bytes: str | int | None
    """Workbooks: the most that one may unpack to, with its pictures, because a sheet is held in memory;
    it takes about two to three times as much. Default: 512MiB."""

    no_header: bool | None
    """CSV, workbooks: the first row is data. Columns are named by columns, else c1, c2, …."""

    columns: str | Sequence[str] | None
    """CSV, workbooks: names of the columns in order, for files without a header: the first row is
    data."""

    schema: str | Sequence[str] | None
    """CSV, parse_regex, fixed_width: types of columns instead of the ones that are found, as in
    id:string,price:float. An integer 007 or +5 is 7 or 5, as an id, too."""

    all_strings: bool | None
    """CSV: every column is a string, but those that schema names."""

    null: str | Sequence[str] | None
    """CSV: cells with this content count as empty, as in NA or \\N: the field is absent; repeated for
    several."""

    validate: bool | None
    """NDJSON, JSON: check that every document is a JSON object before it is sent; others are dead
    letters. It costs about a second of one core for a gigabyte. Otherwise the cluster finds out."""

    no_hive_partitions: bool | None
    """Folders in a path such as year=2024 are no fields. Otherwise the documents of the files in them
    get them, as whole numbers or strings, unless they have such a field of their own."""

    timestamps: Literal["iso", "epoch-millis"] | None
    """Parquet, Arrow, Avro, SQL, data frames: how timestamps are written. Default: iso; "iso": text, as
    in 2024-01-31T10:00:00.123Z; "epoch-millis": milliseconds since 1970, a number: less work for the
    cluster; needs a mapping that says that the field is a date; values that are no whole milliseconds
    are written as iso."""

    store_option: str | Sequence[str] | None
    """Object stores: settings that the environment does not have, as in endpoint=http://localhost:7070,
    region=eu-west-1, allow_http=true or anonymous=true; repeated for several. No secrets: those come
    from the environment (AWS_*, GOOGLE_*, AZURE_*), the AWS profile or the identity of the machine."""

    charset: str | None
    """Character set of the sources, as in latin1 (which is windows-1252, as browsers take it), utf-16le
    or shift_jis; bytes that it does not have become U+FFFD, with a warning. With ascii any other byte
    ends the source. Default: UTF-8, or what a byte order mark says; a record that is no UTF-8 is a dead
    letter."""

    db_table: str | None
    """Databases (postgres://user@host/db, mysql://user@host/db, sqlite:///path): the table or view to
    read, as in orders or public.orders."""

    db_query: str | None
    """Databases: the query whose rows become documents, as in 'SELECT … FROM …'; @FILE reads it from a
    file."""

    split_by: str | None
    """Databases: the column whose ranges are read side by side; it should have an index. Default:
    tables of Postgres are read in ranges of their pages, everything else by one connection."""

    db_readers: int | None
    """Databases: connections that read side by side. Default: 4."""

    source_password_file: str | os.PathLike[str] | None
    """Databases: file that holds the password. Default: PGPASSWORD, ~/.pgpass or MYSQL_PWD."""

    sql: str | None
    """Load the result of a query instead of the sources, which are its table `input`: each row is a
    document. Names are taken as they are written; see docs/sql.md."""

    sql_file: str | os.PathLike[str] | None
    """The same with the query in a file."""

    table: str | Sequence[str] | None
    """SQL: one more table, of a file, folder or glob, as in artists='data/artists*.csv'; repeated for
    several. Options about formats but workbook_bytes are for the sources, and not for these."""

    sql_memory: str | int | None
    """SQL: memory for sorting, grouping and joining; what needs more goes to temporary files (TMPDIR).
    Default: 1GiB."""

    query: str | Mapping[str, Any] | None
    """The documents of the index to read, as JSON or @FILE: a query as a search has it. Default:
    all."""

    keep_versions: bool | None
    """Write documents with the versions that they have, as external ones: an older document never
    replaces a newer one."""

    catch_up: bool | None
    """When all documents are read, read those that were written meanwhile as well, until there are no
    more (at most ten times). Deletions are not seen: such documents stay in the target."""

    copy_mapping: bool | None
    """Make the target, if it does not exist yet, with the mapping of the index that is read; parts that
    the target does not know are left out and named."""

    copy_settings: bool | None
    """Make the target, if it does not exist yet, with the settings of the index that is read; those of
    its cluster are left out and named. An shards or replicas wins."""

    from_user: str | None
    """User of basic authentication; the password comes from from_password_file, the environment or a
    prompt."""

    from_password_file: str | os.PathLike[str] | None
    """File that holds the password."""

    from_password_env: str | None
    """Environment variable that holds the password. Default: INRUSH_FROM_PASSWORD."""

    from_api_key_file: str | os.PathLike[str] | None
    """File that holds the API key, as id:key or as the cluster encoded it."""

    from_api_key_env: str | None
    """Environment variable that holds the API key. Default: INRUSH_FROM_API_KEY, where it is set."""

    from_bearer_file: str | os.PathLike[str] | None
    """File that holds the bearer token."""

    from_bearer_env: str | None
    """Environment variable that holds the bearer token. Default: INRUSH_FROM_BEARER, where it is
    set."""

    from_ca: str | os.PathLike[str] | None
    """PEM file with the certificate authorities to trust besides the system's."""

    from_cert: str | os.PathLike[str] | None
    """PEM file with the client certificate; needs from_key."""

    from_key: str | os.PathLike[str] | None
    """PEM file with the private key of from_cert."""

    from_insecure: bool | None
    """Take any certificate of the cluster: anyone on the way can read and change everything."""

    from_aws_sigv4: Literal["es", "aoss"] | None
    """Sign requests for an Amazon service; "es": Amazon OpenSearch Service; "aoss": Amazon OpenSearch
    Serverless."""

    from_aws_region: str | None
    """AWS region. Default: AWS_REGION, AWS_DEFAULT_REGION, the profile's, then the host name's."""

    from_aws_profile: str | None
    """Profile in the AWS configuration files; no other place is asked for credentials. Default: the
    AWS_* variables, then AWS_PROFILE, then `default`."""

    action: Literal["index", "create", "update", "upsert", "delete"] | None
    """The action for each document. Default: index; create for a data stream; "index": add the
    document, or replace the one with its id; "create": add the document; where its id exists, that is a
    conflict; "update": merge the document into the one with its id; "upsert": merge the document into
    the one with its id, or add it; "delete": remove the document with this id."""

    id: str | None
    """The field that holds the id, as in id or artist.id. Default: the cluster makes ids up."""

    id_from: Literal["position", "content"] | None
    """Make ids where documents have none, so that a load that is repeated or resumed has no document
    twice. Default: the cluster makes ids up; "position": the name of the source as given, and the
    number of the document in it; "content": the bytes of the document; equal documents stay as many as
    they are; takes about 20 to 40 bytes of memory for each different document."""

    routing: str | None
    """The field that holds the routing value. Default: none."""

    version: str | None
    """The field that holds the external version, a whole number; a document older than the one in the
    index is a conflict. Default: none."""

    pipeline: str | None
    """The ingest pipeline. Default: the index's own."""

    drop: str | Sequence[str] | None
    """Fields to leave out of the documents, repeated or separated by commas."""

    mapping: str | os.PathLike[str] | Mapping[str, Any] | None
    """JSON file with the mapping of an index that does not exist yet."""

    map: Literal["auto"] | None
    """Make the mapping of an index that does not exist yet from the first 100,000 documents, as `inrush
    mapping` does; later ones that do not fit are dead letters. Default: the cluster's dynamic mapping;
    "auto": the documents."""

    mixed: Literal["widen", "keep", "ignore"] | None
    """With map='auto', what happens to a field that is an object here and a value there, or a number
    here and a text there. Default: widen; "widen": numbers and texts become keywords; of objects and
    values the more frequent kind is taken, and the other refused; "keep": no document is refused: a
    field of objects and values is kept, and not searchable; "ignore": as keep; a number, date, address
    or point stays one where most values are, and the others are not searchable."""

    settings: str | os.PathLike[str] | Mapping[str, Any] | None
    """JSON file with the settings of an index that does not exist yet."""

    indices: Mapping[str, Any] | Sequence[Mapping[str, Any]] | None
    """Mapping, settings, shards and replicas of new indices by the pattern of their name, the first
    match wins; for an index with placeholders. In a job file, tables written as [[indices]]."""

    shards: int | str | None
    """Primary shards of an index that does not exist yet; `auto`: a number at which each will hold 10
    to 30 GB, as far as the sources tell how large the index will be (of stdin nothing is known, and it
    gets the default). Default: the cluster's."""

    replicas: int | None
    """Replicas of an index that does not exist yet. Default: the cluster's."""

    recreate: bool | None
    """Delete the index first, with all its documents; asks, unless yes is given. The index is kept
    where the sources cannot be read or are empty, or where the cluster would not make it anew."""

    leave_settings: bool | None
    """Leave the settings of the index as they are. Otherwise a large load (256 MiB of sources or more)
    into an empty index has no replicas, and a very large one (1 GiB) refreshes, flushes and merges
    less; all of it is put back. With this option nothing but documents is written to the cluster, so
    loads into one index at the same time do not know each other."""

    durability: Literal["request", "async"] | None
    """When a document counts as in. Default: request; "request": a document is in when the cluster
    acknowledges it; "async": the cluster acknowledges before it syncs its translog, and a document is
    in when a later flush has made it durable on all copies; documents that a node loses before are sent
    again, and half of memory is for documents that wait for a flush."""

    replicas_off: bool | None
    """No replicas during the load, whatever its size; an index with documents has to be green, and
    asks, unless yes is given."""

    under_policy: bool | None
    """Load although a policy (ILM, ISM) is about to make the index read-only, shrink or delete it,
    within a day. Otherwise that is refused, and later steps of the policy are a warning."""

    yes: bool | None
    """Do not ask."""

    user: str | None
    """User of basic authentication; the password comes from password_file, the environment or a
    prompt."""

    password_file: str | os.PathLike[str] | None
    """File that holds the password."""

    password_env: str | None
    """Environment variable that holds the password. Default: INRUSH_PASSWORD."""

    api_key_file: str | os.PathLike[str] | None
    """File that holds the API key, as id:key or as the cluster encoded it."""

    api_key_env: str | None
    """Environment variable that holds the API key. Default: INRUSH_API_KEY, where it is set."""

    bearer_file: str | os.PathLike[str] | None
    """File that holds the bearer token."""

    bearer_env: str | None
    """Environment variable that holds the bearer token. Default: INRUSH_BEARER, where it is set."""

    ca: str | os.PathLike[str] | None
    """PEM file with the certificate authorities to trust besides the system's."""

    cert: str | os.PathLike[str] | None
    """PEM file with the client certificate; needs key."""

    key: str | os.PathLike[str] | None
    """PEM file with the private key of cert."""

    insecure: bool | None
    """Take any certificate of the cluster: anyone on the way can read and change everything."""

    aws_sigv4: Literal["es", "aoss"] | None
    """Sign requests for an Amazon service. Credentials come from the environment, the profile, a web
    identity, or the role of the container or the EC2 instance; "es": Amazon OpenSearch Service; "aoss":
    Amazon OpenSearch Serverless."""

    aws_region: str | None
    """AWS region. Default: AWS_REGION, AWS_DEFAULT_REGION, the profile's, then the host name's."""

    aws_profile: str | None
    """Profile in the AWS configuration files; no other place is asked for credentials. Default: the
    AWS_* variables, then AWS_PROFILE, then `default`."""

    password: str | None
    """The password of user."""

    api_key: str | None
    """The API key, as id:key or as the cluster encoded it."""

    bearer: str | None
    """The bearer token."""

    batch_bytes: str | int | None
    """Bytes of the body of one request, as JSON and before compression; a larger document travels
    alone. Default: tuned, 64KiB to 64MiB."""

    batch_docs: int | None
    """Documents in one request. Default: as many as batch_bytes allows."""

    in_flight: int | None
    """Requests in flight at once, those that wait to be tried again included. Default: tuned, 1 to
    256."""

    gentle: bool | None
    """Hold back for the sake of searches: requests take at most 1.3 times as long as one alone does, on
    average, and fewer are in flight as soon as documents are rejected."""

    max_rate: str | int | None
    """The most that is sent a second, repetitions included: bytes before compression such as 20MiB, or
    documents such as 5000docs. Default: no limit."""

    trace: str | os.PathLike[str] | None
    """File for what the tuner saw and decided, one JSON object a line; overwritten."""

    linger: str | datetime.timedelta | None
    """How long documents wait for a request to fill while the source is slow. Default: 1s."""

    memory: str | int | None
    """Bytes of documents in flight; batch_bytes x in_flight must fit. At most half as many are read
    meanwhile. Default: 64MiB."""

    workers: int | None
    """Threads that read and encode. Default: one a core, at most 8."""

    max_document_bytes: str | int | None
    """The largest document; a larger one is a dead letter. Default: 100MiB."""

    request_timeout: str | datetime.timedelta | None
    """How long one request may take. Default: 120s."""

    retry_for: str | datetime.timedelta | None
    """How long a batch is tried again while the cluster is overloaded. Default: 10m."""

    retries: int | None
    """How often in a row a batch is tried again without getting any of its documents in. Default:
    20."""

    pause_for: str | datetime.timedelta | None
    """How long to wait for a condition of the index to pass: a write block, a primary shard that is
    missing (red), a disk above its high watermark or the flood stage. Then the load stops, and resume
    continues it. Default: 10m."""

    encoding: Literal["auto", "json", "smile"] | None
    """The form in which documents are sent. Default: auto; "auto": begin with json, compare both during
    the load, and take smile where it is clearly faster; "json": NDJSON; "smile": binary JSON; the
    cluster keeps it as it comes, and transcodes it whenever a document is read; a cluster that does not
    take it gets JSON."""

    compression: str | None
    """How bodies are compressed: none; gzip or gzip:LEVEL, with 1 (the default, fastest) to 12; or
    auto: begin without, compare during the load, and compress where that brings more. Default: auto."""

    bulk_routing: Literal["auto", "spread", "one-shard"] | None
    """The shards that a request goes to. Default: auto; "auto": group documents with ids by shard where
    to names several nodes with primary shards; nothing else is stored with them; "spread": each request
    goes to all shards; "one-shard": group documents with ids or routing values by shard; documents
    without get a routing value for the whole request, which stays stored with them."""

    replies: Literal["items", "summary"] | None
    """What is asked of the cluster for each request. Default: items; "items": one reply entry a
    document; "summary": only whether there were errors, which costs less."""

    on_conflict: Literal["fail", "skip", "compare"] | None
    """What a version conflict (409) means that no earlier attempt of this load has caused. Default:
    fail; "fail": a dead letter; "skip": counted, and fine; "compare": fine if the index has the same
    content, else a dead letter."""

    dead_letters: str | os.PathLike[str] | None
    """File for documents that cannot be indexed, one JSON object a line with error, position and
    document. Default: inrush-dead-letters-RUN.ndjson in the working directory, made when the first one
    comes."""

    strict: bool | None
    """Stop at the first document that cannot be indexed, as max_errors=0."""

    max_errors: str | int | None
    """Stop when more than N documents, or more than N% of them, are dead letters; a percentage is
    judged from the 10,000th document on and at the end. Default: 100%."""

    tolerate: str | int | None
    """Count a load as complete although up to N documents, or N% of those that were read, are not in:
    for the exit status and for the swap of alias. Dead letters and documents in a failure store count,
    and those without an answer are never tolerated. The report says how many there are and why.
    Default: 0."""

    allow_empty: bool | None
    """Continue with a source that has no document: recreate deletes the index for it, and alias is
    moved to a new index without documents. Otherwise both are refused, and any other load warns."""

    no_verify: bool | None
    """Do not refresh, count and compare at the end."""

    alias: str | None
    """Load without downtime: into a new index, to which this alias is moved in one step when all
    documents are in, verified, the settings put back and the index green. The alias keeps its filter,
    routing and write-index flag; one that does not exist is made; where an index has its name, that is
    deleted in the same step (only with delete_old). The new index is index, which must not exist, or
    NAME-<UTC time>. On any failure the alias and its index are as before, and the new one is kept."""

    delete_old: bool | None
    """With alias: delete the index that the alias stood for, after the swap. Otherwise it is kept."""

    allow_shrink: str | None
    """With alias: how many documents fewer than the old index the new one may hold, in percent of the
    old one's; any is 100%. With fewer the alias stays where it is, the new index is kept, and the exit
    status is 4. Default: 50%."""

    old_writes: Literal["report", "block", "catch-up"] | None
    """With alias, what happens with writes to the old index during the load. Default: report; "report":
    they are counted, and the first ids named; "block": they are refused from the beginning until the
    swap (index.blocks.write, put back whatever happens, after a crash by `inrush recover`); "catch-up":
    documents that were written are copied to the new index at the end, by id: only right where both
    indices hold the same documents under the same ids, and deletions are not seen."""

    warm: str | os.PathLike[str] | None
    """With alias: file with searches, one JSON body a line, each run once on the new index before the
    swap; one that fails stops it."""

    force_merge: int | None
    """Merge each shard to at most N segments, before replicas that the load has switched off come
    back."""

    wait_for: Literal["searchable", "green", "replicated"] | None
    """Wait until the index is in this state; the report says how long each took. Default: searchable by
    the verification; with alias green, or as near to it as the number of nodes allows; "searchable":
    refreshed: searches find all documents; "green": besides, all copies of its shards are in use;
    "replicated": besides, all copies have all documents."""

    wait_timeout: str | datetime.timedelta | None
    """How long each wait and the force-merge may take; then the exit status is 4. Default: 1h."""

    resume: bool | None
    """Continue where the same load was cut off, by a crash, a signal or a failure; a change since then
    is refused. Without ids the documents of the last moments may be there twice, and are counted."""

    once: bool | None
    """Load these sources once, however often the same command is started, as by a job runner: begin,
    continue where it was cut off, or repeat the report and the exit status of the run that came to its
    end. A source that changed since its end is loaded anew. What was done is kept in the cluster, in
    the index inrush-loads, and in state. Exit status 75: the same load is running; start it again
    later. See docs/unattended.md."""

    state: str | os.PathLike[str] | None
    """Folder for checkpoints, and for records of settings that are changed, besides those in the
    cluster. Default: inrush in XDG_STATE_HOME or ~/.local/state."""


class BakeOptions(LoadOptions, total=False):
    """The options of `inrush.spark.bake`."""

    repository_path: str | os.PathLike[str] | None
    """Folder of a file system that this machine and all nodes of the target have at the same path,
    below the nodes' path.repo. A folder of its own is made there, and deleted at the end."""

    repository: str | None
    """Instead of a folder: a repository of the target, of whose place and type one is made for this
    bake. Its contents are not touched. Other types than fs need the server's plugin on the builder, too
    (builder_home)."""

    data_stream: str | None
    """A data stream of the target that the index becomes a part of at the end, behind the one that is
    written to; index is its name by itself, one that no template makes data streams of. Elasticsearch
    7.16 and newer."""

    unthrottle: bool | None
    """Lift the target's throttles for the restore; written down first, and put back. Otherwise they
    stay."""

    no_resume: bool | None
    """Take away what was built when the bake fails or is interrupted, too. Otherwise it stays, and
    resume continues with it."""

    estimate: bool | None
    """Bake nothing, and say what the index would cost by a load and by a bake: a sample is loaded into
    a builder twice, written to the repository and restored on the builder. The target is only looked
    at."""

    sample: str | int | None
    """With estimate: the size of the part of the source that is the sample. Default: 32MiB."""

    layout: Literal["cluster", "alias", "stitched"] | None
    """What several builders build. Default: cluster; "cluster": they are one cluster that holds the
    index; "alias": an index each, NAME-1 and on, behind the alias NAME; "stitched": a shard each of one
    index; needs id."""

    builder: str | Sequence[str] | None
    """Instead of starting one: a server to build with that runs already and that nothing else uses, on
    this machine or another, without security; its path.repo holds the folder of the repository.
    Repeated or separated by commas for several builders. It is left running, without what was built."""

    builder_version: str | None
    """Version of the builder: not newer than the oldest node of the target, with the same major version
    of Lucene. Default: the target's, else the newest one on this machine that fits."""

    builder_home: str | os.PathLike[str] | None
    """An unpacked server to build with, with the plugins that the mapping and the repository need, and
    their secrets in its keystore; its settings file is not read. Default: one that is fetched, without
    plugins."""

    builder_setting: str | Sequence[str] | None
    """A setting of the builder, as in opensearch.yml or elasticsearch.yml: what a plugin needs, such as
    s3.client.default.region=eu-west-1. No secrets here, they belong into its keystore. Repeatable."""

    builder_heap: str | int | None
    """Java heap of the builder. Default: 2g."""

    builder_data: str | os.PathLike[str] | None
    """Folder for the builder's data. Default: where local nodes are kept."""

    java_home: str | os.PathLike[str] | None
    """Java to run the builder with, a folder with bin/java. Default: JAVA_HOME, PATH, /usr/lib/jvm."""
