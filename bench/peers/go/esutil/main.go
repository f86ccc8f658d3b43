// go-elasticsearch's esutil.BulkIndexer, as its README shows it.
package main

import (
	"bytes"
	"context"
	"strconv"
	"time"

	"github.com/elastic/go-elasticsearch/v8"
	"github.com/elastic/go-elasticsearch/v8/esutil"

	peers "inrush/bench/peers"
)

func main() {
	options := peers.Parse(5e6)
	client, err := elasticsearch.NewClient(elasticsearch.Config{
		Addresses: []string{options.URL},
		// As in the library's own examples.
		RetryOnStatus: []int{502, 503, 504, 429},
		MaxRetries:    5,
		Transport:     options.Transport(),
	})
	if err != nil {
		peers.Fail(err)
	}
	config := esutil.BulkIndexerConfig{Client: client, Index: options.Index, NumWorkers: options.Workers, FlushBytes: options.FlushBytes}
	if options.Lean {
		config.FilterPath = []string{"errors", "items.*.status", "items.*.error"}
	}
	indexer, err := esutil.NewBulkIndexer(config)
	if err != nil {
		peers.Fail(err)
	}
	began := time.Now()
	number := 0
	err = peers.Lines(options.Files, func(line []byte) error {
		body := bytes.NewReader(append([]byte(nil), line...))
		item := esutil.BulkIndexerItem{Action: "index", Body: body}
		if options.IDs {
			item.DocumentID = strconv.Itoa(number)
		}
		number++
		return indexer.Add(context.Background(), item)
	})
	if err != nil {
		peers.Fail(err)
	}
	if err := indexer.Close(context.Background()); err != nil {
		peers.Fail(err)
	}
	stats := indexer.Stats()
	peers.Report{Sent: stats.NumAdded, Indexed: stats.NumIndexed + stats.NumCreated, Failed: stats.NumFailed}.Print(began)
}
