package node

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

var now = time.Date(2026, 4, 19, 21, 30, 0, 0, time.UTC)

// certificateFor is a certificate and its key in one PEM file, as the kubelet keeps them.
func certificateFor(t *testing.T, commonName string, notAfter time.Time) []byte {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1),
		Subject:      pkix.Name{CommonName: commonName, Organization: []string{"system:nodes"}},
		NotBefore:    notAfter.Add(-time.Hour),
		NotAfter:     notAfter,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	require.NoError(t, err)
	keyDER, err := x509.MarshalPKCS8PrivateKey(key)
	require.NoError(t, err)
	return append(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: keyDER}),
		pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})...)
}

// kubeconfig is a kubelet's: the certificate is a file beside it.
func kubeconfig(server, ca, user string) string {
	return fmt.Sprintf(`apiVersion: v1
kind: Config
clusters: [{name: c, cluster: {server: %q, certificate-authority: %q}}]
users: [{name: u, user: {%s}}]
contexts: [{name: x, context: {cluster: c, user: u}}]
current-context: x
`, server, ca, user)
}

const byFile = "client-certificate: kubelet.pem, client-key: kubelet.pem"

func TestTheNameComesFromTheCredential(t *testing.T) {
	valid := now.Add(time.Hour)
	for name, tt := range map[string]struct {
		commonName string
		notAfter   time.Time
		user       string
		override   string
		want       string
		fault      string
	}{
		"a kubelet's certificate":    {"system:node:ws-1", valid, byFile, "", "ws-1", ""},
		"a name given":               {"system:node:ws-1", valid, byFile, "other", "other", ""},
		"somebody else's":            {"admin", valid, byFile, "", "", "give --node-name"},
		"a token":                    {"", valid, "token: secret", "", "", "give --node-name"},
		"a token and a name given":   {"", valid, "token: secret", "ws-1", "ws-1", ""},
		"expired":                    {"system:node:ws-1", now.Add(-time.Minute), byFile, "", "", "the client certificate expired at 2026-04-19T21:29:00Z"},
		"expired, with a name given": {"system:node:ws-1", now.Add(-time.Minute), byFile, "ws-1", "", "expired"},
		"a file that is not there":   {"system:node:ws-1", valid, "client-certificate: no.pem, client-key: no.pem", "", "", "no.pem"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			path := filepath.Join(dir, "kubelet.conf")
			pemFile := certificateFor(t, tt.commonName, tt.notAfter)
			require.NoError(t, os.WriteFile(filepath.Join(dir, "kubelet.pem"), pemFile, 0o600))
			require.NoError(t, os.WriteFile(path, []byte(kubeconfig("https://127.0.0.1:1", "", tt.user)), 0o600))
			c, err := LoadCredential([]string{filepath.Join(dir, "not-there"), path}, tt.override, now)
			if tt.fault != "" {
				require.ErrorIs(t, err, ErrNoCredential)
				require.ErrorContains(t, err, tt.fault)
				require.ErrorContains(t, err, path)
				return
			}
			require.NoError(t, err)
			require.Equal(t, tt.want, c.NodeName)
			require.Equal(t, path, c.Path)
		})
	}
}

func TestWithoutAKubeconfigTheMachineHasNotJoined(t *testing.T) {
	_, err := LoadCredential([]string{"/nowhere/a", "/nowhere/b"}, "", now)
	require.ErrorIs(t, err, ErrNoCredential)
	require.ErrorContains(t, err, "no kubeconfig at /nowhere/a or /nowhere/b: this machine has not joined a cluster")
}

func TestAGarbledKubeconfigIsNamed(t *testing.T) {
	path := filepath.Join(t.TempDir(), "kubelet.conf")
	require.NoError(t, os.WriteFile(path, []byte("{"), 0o600))
	_, err := LoadCredential([]string{path}, "", now)
	require.ErrorIs(t, err, ErrNoCredential)
	require.ErrorContains(t, err, path)
}

func TestOrderOfResourceVersions(t *testing.T) {
	n := Node{UID: "1", ResourceVersion: "99"}
	require.True(t, n.Older(Node{UID: "1", ResourceVersion: "100"}))
	require.False(t, n.Older(Node{UID: "1", ResourceVersion: "99"}))
	require.False(t, n.Older(Node{UID: "2", ResourceVersion: "100"}), "another Node")
	require.False(t, n.Older(Node{UID: "1", ResourceVersion: "x"}), "unknown is not older")
}

func TestPausesGrowFromFiftyMillisecondsToFiveSeconds(t *testing.T) {
	pauses := Backoff()
	first := pauses.Step()
	require.GreaterOrEqual(t, first, 50*time.Millisecond)
	require.Less(t, first, 100*time.Millisecond)
	var last time.Duration
	for range 20 {
		last = pauses.Step()
		require.LessOrEqual(t, last, 5*time.Second)
	}
	require.GreaterOrEqual(t, last, 4*time.Second)
}
