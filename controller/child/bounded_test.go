package child

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/client-go/rest"
)

// endless answers everything with a body that never ends.
func endless(t *testing.T) (*httptest.Server, *http.Client) {
	t.Helper()
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		chunk := make([]byte, 1<<20)
		for r.Context().Err() == nil {
			if _, err := w.Write(chunk); err != nil {
				return
			}
		}
	}))
	t.Cleanup(server.Close)
	client, err := httpClient(&rest.Config{Host: server.URL, TLSClientConfig: rest.TLSClientConfig{Insecure: true}})
	require.NoError(t, err)
	return server, client
}

func TestAnAnswerThatNeverEndsFails(t *testing.T) {
	server, client := endless(t)
	response, err := client.Get(server.URL + "/api/v1/nodes")
	require.NoError(t, err)
	defer response.Body.Close()
	n, err := io.Copy(io.Discard, response.Body)
	require.ErrorIs(t, err, errTooLong, "half an answer must not pass for a whole one")
	require.EqualValues(t, maxAnswer, n)
}

func TestAWatchHasNoEnd(t *testing.T) {
	server, client := endless(t)
	response, err := client.Get(server.URL + "/api/v1/nodes?watch=true")
	require.NoError(t, err)
	defer response.Body.Close()
	_, err = io.CopyN(io.Discard, response.Body, maxAnswer+1)
	require.NoError(t, err)
}
