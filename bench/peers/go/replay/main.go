// Sends bodies that were built before the clock starts: the limit that no client can pass at this size and concurrency. Replies are read and thrown
// away, but for their status.
package main

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"

	peers "inrush/bench/peers"
)

type body struct {
	bytes []byte
	docs  uint64
}

func main() {
	options := peers.Parse(2 << 20)
	var bodies []body
	var current body
	err := peers.Lines(options.Files, func(line []byte) error {
		current.bytes = append(append(append(current.bytes, "{\"index\":{}}\n"...), line...), '\n')
		current.docs++
		if len(current.bytes) >= options.FlushBytes {
			bodies = append(bodies, current)
			current = body{bytes: make([]byte, 0, options.FlushBytes+4096)}
		}
		return nil
	})
	if err != nil {
		peers.Fail(err)
	}
	if current.docs > 0 {
		bodies = append(bodies, current)
	}
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: options.Workers, DisableCompression: true}}
	url := options.URL + "/" + options.Index + "/_bulk?filter_path=errors"
	work := make(chan body, len(bodies))
	for _, body := range bodies {
		work <- body
	}
	close(work)
	began := time.Now()
	var workers sync.WaitGroup
	var lock sync.Mutex
	var report peers.Report
	for range options.Workers {
		workers.Go(func() {
			for body := range work {
				good, err := send(client, url, body)
				if err != nil {
					peers.Fail(err)
				}
				lock.Lock()
				report.Sent += body.docs
				if good {
					report.Indexed += body.docs
				} else {
					report.Failed += body.docs
				}
				lock.Unlock()
			}
		})
	}
	workers.Wait()
	report.Print(began)
}

func send(client *http.Client, url string, body body) (bool, error) {
	reply, err := client.Post(url, "application/x-ndjson", bytes.NewReader(body.bytes))
	if err != nil {
		return false, err
	}
	defer reply.Body.Close()
	text, err := io.ReadAll(reply.Body)
	if err != nil {
		return false, err
	}
	if reply.StatusCode != http.StatusOK {
		return false, fmt.Errorf("status %d: %s", reply.StatusCode, text)
	}
	return !bytes.Contains(text, []byte(`"errors":true`)), nil
}
