// SPDX-License-Identifier: Apache-2.0

// An ordinary HTTP client on Go's net/http; it knows nothing of Sluice. Asks what the
// JSON file in its argument lists, one after the other, and says a line of JSON on each.
package main

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"time"
)

type step struct {
	Method  string
	URL     string
	Headers map[string]string
	Body    *string
	Leave   int
}

type told struct {
	Status int       `json:"status"`
	Type   string    `json:"type"`
	Body   string    `json:"body"`
	Error  string    `json:"error"`
	Times  []float64 `json:"times"`
}

func ask(s step) (*http.Response, error) {
	var body io.Reader
	if s.Body != nil {
		body = strings.NewReader(*s.Body)
	}
	if s.Method == "" {
		s.Method = "POST"
	}
	request, err := http.NewRequest(s.Method, s.URL, body)
	if err != nil {
		return nil, err
	}
	for name, value := range s.Headers {
		request.Header.Set(name, value)
	}
	return http.DefaultClient.Do(request)
}

func tell(s step) told {
	said := told{Times: []float64{}}
	began := time.Now()
	answer, err := ask(s)
	if err != nil {
		said.Error = fmt.Sprintf("%T: %v", err, err)
		return said
	}
	defer answer.Body.Close()
	said.Status, said.Type = answer.StatusCode, answer.Header.Get("Content-Type")
	got, buffer := []byte{}, make([]byte, 65536)
	for err == nil {
		var n int
		n, err = answer.Body.Read(buffer)
		got = append(got, buffer[:n]...)
		if n > 0 {
			said.Times = append(said.Times, time.Since(began).Seconds())
		}
		if s.Leave > 0 && len(got) >= s.Leave {
			os.Exit(4)
		}
	}
	if err != io.EOF {
		said.Error = fmt.Sprintf("%T: %v", err, err)
	}
	said.Body = hex.EncodeToString(got)
	return said
}

func main() {
	text, err := os.ReadFile(os.Args[1])
	var steps []step
	if err == nil {
		err = json.Unmarshal(text, &steps)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	status := 0
	for _, s := range steps {
		said := tell(s)
		if said.Error != "" {
			status = 1
		}
		line, _ := json.Marshal(said)
		fmt.Println(string(line))
	}
	os.Exit(status)
}
