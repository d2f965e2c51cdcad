package server

import (
	"context"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/node/nodeapi"
	"tend.dev/tend/internal/platform/recovery"
)

// diskTime bounds the time in which a node must measure its disk: an engine reads all of its volumes for that.
const diskTime = 2 * time.Minute

// disks asks each node for its disk usage. The entry of a node that can't answer holds the reason.
func (s *Server) disks(ctx context.Context, _ *struct{}) (api.ListResult[api.NodeDisk], error) {
	return s.askDisks(ctx, false)
}

type pruneQuery struct {
	DryRun bool `query:"dry_run"`
}

// prune removes the images that nothing refers to, on each node.
func (s *Server) prune(ctx context.Context, in *pruneQuery) (api.ListResult[api.NodeDisk], error) {
	return s.askDisks(ctx, !in.DryRun)
}

func (s *Server) askDisks(ctx context.Context, prune bool) (api.ListResult[api.NodeDisk], error) {
	snap, err := s.snapshot()
	if err != nil {
		return api.ListResult[api.NodeDisk]{}, err
	}
	ctx, end := s.untilClosing(ctx, diskTime)
	defer end()
	nodes := snap.Nodes()
	out := make([]api.NodeDisk, len(nodes))
	var wait recovery.Group
	for i, read := range nodes {
		id := read.Value.ID
		wait.Go(func() {
			out[i] = api.NodeDisk{Node: id}
			var n nodeapi.Node
			err := recovery.Call(func() (err error) {
				if n, err = s.Nodes.Node(id); err == nil {
					out[i], err = n.Disk(ctx, prune)
					out[i].Node = id // whatever it calls itself
				}
				return err
			}, "node", id)
			if err != nil {
				out[i].Message = err.Error()
			}
		})
	}
	wait.Wait()
	return api.ListResult[api.NodeDisk]{Items: out, Revision: snap.Revision()}, nil
}
