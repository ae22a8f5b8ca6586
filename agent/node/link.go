package node

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/utils/clock"

	"5spot.finos.org/node-reclaim/agent/latest"
)

// Options of a Link.
type Options struct {
	// Kubeconfigs in order of preference: the first that exists counts, and it is looked up anew in every round.
	Kubeconfigs []string
	// NodeName overrides the name in the client certificate.
	NodeName string
	// MachineIDFile is /etc/machine-id. Empty: the Node is taken for this machine without a check.
	MachineIDFile string
	Version       string
	Clock         clock.WithTicker
}

// Link follows the own Node for as long as the agent runs: through outages, rotated credentials, and clusters left and joined again.
type Link struct {
	opts  Options
	views latest.Value[View]
	last  View
	// recheck is the time between two looks at the kubeconfig while the Node is followed.
	recheck time.Duration

	mu     sync.Mutex // Get and Annotate come from other goroutines
	client *Client
	key    string
	// verified is the UID of the Node that was found to be this machine.
	verified string
}

// NewLink makes a Link; Run brings it to life.
func NewLink(o Options) *Link {
	return &Link{opts: o, views: latest.New[View](), recheck: 30 * time.Second}
}

// Views delivers the newest view after every change.
func (l *Link) Views() <-chan View { return l.views.C() }

// steady is how long a round has to last to count as an orderly one: only then the next one follows without a growing pause.
const steady = 5 * time.Second

// Run follows the Node until ctx ends.
func (l *Link) Run(ctx context.Context) {
	defer l.drop()
	away, refused := Backoff(), slowly()
	for ctx.Err() == nil {
		began := l.opts.Clock.Now()
		err := l.round(ctx)
		if l.opts.Clock.Since(began) > steady {
			away, refused = Backoff(), slowly()
		}
		pause := away.Step()
		if unusable(err) {
			l.drop()
		}
		if refusal(err) {
			pause = refused.Step()
		}
		if ctx.Err() == nil && err != nil {
			l.publish(l.after(err))
		}
		Sleep(ctx, pause)
	}
}

// round reads the credential and the Node, and follows the Node until the watch ends.
func (l *Link) round(ctx context.Context) error {
	client, err := l.connect()
	if err != nil {
		return err
	}
	n, version, err := client.list(ctx)
	if err != nil {
		return err
	}
	if err := l.see(ctx, client, n); err != nil {
		return err
	}
	w, err := client.watch(ctx, version)
	if err != nil {
		return err
	}
	defer w.Stop()
	return l.follow(ctx, client, w)
}

// follow takes what the watch says until it ends, or until this machine has another credential: one that has left its cluster must not
// go on with the old one because the connection happens to last.
func (l *Link) follow(ctx context.Context, client *Client, w watch.Interface) error {
	recheck := l.opts.Clock.NewTicker(l.recheck)
	defer recheck.Stop()
	for {
		select {
		case <-recheck.C():
			if l.outdated() {
				return nil
			}
		case event, open := <-w.ResultChan():
			if !open {
				return nil
			}
			if err := l.take(ctx, client, event); err != nil {
				return err
			}
		}
	}
}

func (l *Link) take(ctx context.Context, client *Client, event watch.Event) error {
	m, isNode := event.Object.(*metav1.PartialObjectMetadata)
	switch {
	case event.Type == watch.Error:
		err := apierrors.FromObject(event.Object)
		if apierrors.IsResourceExpired(err) || apierrors.IsGone(err) {
			return nil // the server has forgotten that version and ends the watch; the next round lists again
		}
		return classify("watching Node "+client.name, err)
	case !isNode || event.Type == watch.Bookmark:
		return nil
	case event.Type == watch.Deleted:
		return l.see(ctx, client, nil)
	}
	n := fromMetadata(m)
	return l.see(ctx, client, &n)
}

// see publishes what was read; nil means that there is no such Node.
func (l *Link) see(ctx context.Context, client *Client, n *Node) error {
	if n == nil {
		l.publish(View{Standing: Gone, Node: Node{Name: client.name}, Detail: "there is no Node " + client.name})
		return nil
	}
	foreign, err := l.foreign(ctx, client, n.UID)
	switch {
	case err != nil:
		return err
	case foreign != "":
		l.publish(View{Standing: Foreign, Node: Node{Name: client.name}, Detail: foreign})
	default:
		l.publish(View{Standing: Present, Node: *n})
	}
	return nil
}

// uninitialized is what an image's /etc/machine-id says until its first boot, on every host alike.
const uninitialized = "uninitialized"

// foreign says why the Node is not this machine, or nothing. A Node once found to be ours stays ours: its UID is never used again.
func (l *Link) foreign(ctx context.Context, client *Client, uid string) (string, error) {
	if l.opts.MachineIDFile == "" || l.verified == uid {
		return "", nil
	}
	mine, err := hostID(l.opts.MachineIDFile)
	if err != nil {
		return err.Error() + "; --skip-host-id-check does without", nil
	}
	theirs, err := client.MachineID(ctx)
	if err != nil {
		return "", err
	}
	if mine == "" || mine == uninitialized {
		return "this host has no machine id that could tell it from another: run systemd-machine-id-setup and restart the kubelet", nil
	}
	if theirs != mine {
		return fmt.Sprintf("Node %s has machine id %q, this host has %q: not the same machine", client.name, theirs, mine), nil
	}
	l.verified = uid
	return "", nil
}

// after is the view once a round has failed. Being away changes nothing for a Node that was known to be gone.
func (l *Link) after(err error) View {
	switch {
	case unusable(err):
		return View{Standing: NoCredential, Node: l.last.Node, Detail: err.Error()}
	case l.last.Standing == "" || l.last.Standing == Present || l.last.Standing == Away:
		return View{Standing: Away, Node: l.last.Node, Detail: err.Error()}
	}
	return l.last
}

// refusal: reading its own Node is what every kubelet may do, so that a 403 here means a credential that is not that Node's.
func refusal(err error) bool { return errors.Is(err, ErrRefused) || errors.Is(err, ErrForbidden) }

// unusable: with the credential as it is, nothing can be read or written.
func unusable(err error) bool { return refusal(err) || errors.Is(err, ErrNoCredential) }

// publish leaves out what would be the same once more. The words about an outage differ with every attempt and are not news.
func (l *Link) publish(v View) {
	sameNode := v.Node.UID == l.last.Node.UID && v.Node.ResourceVersion == l.last.Node.ResourceVersion
	if v.Standing == l.last.Standing && sameNode && (v.Detail == l.last.Detail || v.Standing == Away) {
		return
	}
	l.last = v
	l.views.Put(v)
}
