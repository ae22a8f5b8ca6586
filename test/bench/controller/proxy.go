package main

import (
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"
)

// clusterLabel says to which child cluster a Node belongs.
const clusterLabel = "example.org/bench-cluster"

// newProxy shows of a child control plane the Nodes of one cluster. Everything else passes.
func newProxy(child *rest.Config, cluster string) (*httptest.Server, error) {
	target, err := url.Parse(child.Host)
	if err != nil {
		return nil, err
	}
	transport, err := rest.TransportFor(child)
	if err != nil {
		return nil, err
	}
	proxy := &httputil.ReverseProxy{
		Transport:     transport,
		FlushInterval: -1, // watches
		ErrorHandler:  func(http.ResponseWriter, *http.Request, error) {},
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(target)
			r.Out.Header.Del("Authorization") // the transport has the credential
			if r.In.Method == http.MethodGet && r.In.URL.Path == "/api/v1/nodes" {
				query := r.In.URL.Query()
				query.Set("labelSelector", clusterLabel+"="+cluster)
				r.Out.URL.RawQuery = query.Encode()
			}
		},
	}
	server := httptest.NewUnstartedServer(proxy)
	server.EnableHTTP2 = true
	server.StartTLS()
	return server, nil
}

// kubeconfig is one for a proxy.
func kubeconfig(server *httptest.Server) ([]byte, error) {
	const name = "bench"
	data, err := clientcmd.Write(api.Config{
		Clusters: map[string]*api.Cluster{name: {
			Server:                   server.URL,
			CertificateAuthorityData: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}),
		}},
		AuthInfos:      map[string]*api.AuthInfo{name: {Token: name}},
		Contexts:       map[string]*api.Context{name: {Cluster: name, AuthInfo: name}},
		CurrentContext: name,
	})
	if err != nil {
		return nil, fmt.Errorf("writing a proxy's kubeconfig: %w", err)
	}
	return data, nil
}
