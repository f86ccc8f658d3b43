// opensearch-go's opensearchutil.BulkIndexer, as its guide shows it.
package main

import (
	"bytes"
	"context"
	"strconv"
	"time"

	"github.com/opensearch-project/opensearch-go/v4"
	"github.com/opensearch-project/opensearch-go/v4/opensearchapi"
	"github.com/opensearch-project/opensearch-go/v4/opensearchutil"

	peers "inrush/bench/peers"
)

func main() {
	options := peers.Parse(5e6)
	client, err := opensearchapi.NewClient(opensearchapi.Config{Client: opensearch.Config{
		Addresses:     []string{options.URL},
		RetryOnStatus: []int{502, 503, 504, 429},
		MaxRetries:    5,
		Transport:     options.Transport(),
	}})
	if err != nil {
		peers.Fail(err)
	}
	indexer, err := opensearchutil.NewBulkIndexer(opensearchutil.BulkIndexerConfig{
		Client: client, Index: options.Index, NumWorkers: options.Workers, FlushBytes: options.FlushBytes,
	})
	if err != nil {
		peers.Fail(err)
	}
	began := time.Now()
	number := 0
	err = peers.Lines(options.Files, func(line []byte) error {
		body := bytes.NewReader(append([]byte(nil), line...))
		item := opensearchutil.BulkIndexerItem{Action: "index", Body: body}
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
