package server

import (
	"context"
	"time"

	"tend.dev/tend/api"
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
	ask := s.measure
	if prune {
		ask = s.pruneDisk
	}
	nodes := snap.Nodes()
	out := make([]api.NodeDisk, len(nodes))
	var wait recovery.Group
	for i, read := range nodes {
		wait.Go(func() { out[i] = ask(ctx, read.Value.ID) })
	}
	wait.Wait()
	return api.ListResult[api.NodeDisk]{Items: out, Revision: snap.Revision()}, nil
}

// measure returns the disk usage of a node. Requests that come while the node measures share its answer, and none that
// ends takes it from the others.
func (s *Server) measure(ctx context.Context, node string) api.NodeDisk {
	answered := s.measured.DoChan(node, func() (any, error) {
		return s.askDisk(context.WithoutCancel(ctx), node, false), nil
	})
	select {
	case answer := <-answered:
		disk, _ := answer.Val.(api.NodeDisk)
		return disk
	case <-ctx.Done():
		return api.NodeDisk{Node: node, Message: ctx.Err().Error()}
	}
}

func (s *Server) pruneDisk(ctx context.Context, node string) api.NodeDisk {
	return s.askDisk(ctx, node, true)
}

// askDisk asks a node for its disk usage, and with prune to remove the images that nothing refers to.
func (s *Server) askDisk(ctx context.Context, node string, prune bool) (disk api.NodeDisk) {
	ctx, end := s.untilClosing(ctx, diskTime)
	defer end()
	err := recovery.Call(func() error {
		n, err := s.Nodes.Node(node)
		if err == nil {
			disk, err = n.Disk(ctx, prune)
		}
		return err
	}, "node", node)
	disk.Node = node // whatever it calls itself
	if err != nil {
		disk.Message = err.Error()
	}
	return disk
}
