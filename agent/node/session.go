package node

import (
	"bytes"
	"context"
	"fmt"
	"os"
)

// Get reads the Node with the credential in use.
func (l *Link) Get(ctx context.Context) (Node, error) {
	client, err := l.current()
	if err != nil {
		return Node{}, err
	}
	return client.Get(ctx)
}

// Annotate sets annotations with the credential in use, if the Node is still the one that was read.
func (l *Link) Annotate(ctx context.Context, read Node, annotations map[string]string) (Node, error) {
	client, err := l.current()
	if err != nil {
		return Node{}, err
	}
	return client.Annotate(ctx, read, annotations)
}

// current is the client in use. None means that the last round found no credential.
func (l *Link) current() (*Client, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.client == nil {
		return nil, ErrNoCredential
	}
	return l.client, nil
}

// connect keeps the client, and with it the warm connection, while kubeconfig and name are unchanged. A rotated certificate is none of
// its business: client-go reads certificate files again by itself.
func (l *Link) connect() (*Client, error) {
	credential, err := l.credential()
	if err != nil {
		return nil, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.client != nil && l.key == credential.key {
		return l.client, nil
	}
	fresh, err := Connect(credential, l.opts.Version)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNoCredential, err)
	}
	if l.client != nil {
		l.client.Close()
	}
	l.client, l.key = fresh, credential.key
	return fresh, nil
}

func (l *Link) credential() (Credential, error) {
	return LoadCredential(l.opts.Kubeconfigs, l.opts.NodeName, l.opts.Clock.Now())
}

// outdated says whether the credential on disk is no longer the one in use. A certificate renewed under the same name is the same.
func (l *Link) outdated() bool {
	credential, err := l.credential()
	return err != nil || credential.key != l.key
}

// drop forgets a client whose credential is of no use any more.
func (l *Link) drop() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.client != nil {
		l.client.Close()
	}
	l.client, l.key = nil, ""
}

// hostID reads /etc/machine-id.
func hostID(path string) (string, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return "", fmt.Errorf("reading this host's machine id: %w", err)
	}
	return string(bytes.TrimSpace(text)), nil
}
