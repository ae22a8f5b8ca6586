package machine

import (
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"5spot.finos.org/node-reclaim/controller/capi"
)

// Discover finds the newest version of Machines that the management cluster serves and the controller knows.
func Discover(mapper meta.RESTMapper) (capi.Version, error) {
	var errs []error
	for _, version := range []capi.Version{capi.V1Beta2, capi.V1Beta1} {
		_, err := mapper.RESTMapping(schema.GroupKind{Group: capi.Group, Kind: "Machine"}, string(version))
		if err == nil {
			return version, nil
		}
		errs = append(errs, err)
	}
	return "", fmt.Errorf("the management cluster serves no Machines of %s; install Cluster API first: %w", capi.Group, errors.Join(errs...))
}
