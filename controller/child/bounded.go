package child

import (
	"fmt"
	"io"
	"net/http"
)

// maxAnswer bounds one answer of a child's API server: a list of two thousand Nodes with all their images fits, and a server that never
// ends does not fill the memory that all tenants share. A watch has no end by nature; its decoder bounds each event instead.
const maxAnswer = 64 << 20

// errTooLong is what reading on fails with.
var errTooLong = fmt.Errorf("the child cluster's answer is longer than %d MiB", maxAnswer>>20)

// bounded is a transport whose answers end.
type bounded struct{ inner http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (b bounded) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := b.inner.RoundTrip(request)
	if err != nil || isWatch(request) {
		return response, err
	}
	response.Body = &limitedBody{ReadCloser: response.Body, left: maxAnswer}
	return response, nil
}

func isWatch(request *http.Request) bool {
	watch := request.URL.Query().Get("watch")
	return request.Method == http.MethodGet && (watch == "true" || watch == "1")
}

// limitedBody fails instead of ending early: half an answer must not pass for a whole one.
type limitedBody struct {
	io.ReadCloser
	left int64
}

func (l *limitedBody) Read(into []byte) (int, error) {
	if l.left <= 0 {
		return 0, errTooLong
	}
	n, err := l.ReadCloser.Read(into[:min(int64(len(into)), l.left)])
	l.left -= int64(n)
	return n, err
}
