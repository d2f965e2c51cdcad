package docker

import "github.com/moby/moby/api/types/jsonstream"

// maxLayers bounds the layers remembered of one pull; an image has at most 127.
const maxLayers = 512

// Shares of a layer's work: fetching it, then unpacking it.
const downloadShare, extractShare = 0.8, 0.2

// pullProgress turns the engine's messages per layer into one number that never falls. All layers have the same weight:
// the engine reports a layer's size only when it begins.
type pullProgress struct {
	report  func(percent int)
	layers  map[string]float64 // layer → the part of it that is done, 0 to 1
	started bool
	last    int
}

func newPullProgress(report func(percent int)) *pullProgress {
	if report == nil {
		report = func(int) {}
	}
	return &pullProgress{report: report, layers: map[string]float64{}, last: -2}
}

func (p *pullProgress) add(message jsonstream.Message) {
	if message.ID == "" {
		return
	}
	if _, known := p.layers[message.ID]; !known && len(p.layers) >= maxLayers {
		return
	}
	done, isLayer := layerDone(message)
	if !isLayer {
		return
	}
	p.layers[message.ID] = max(p.layers[message.ID], done)
	if message.Progress != nil && message.Progress.Total > 0 || done == 1 {
		p.started = true
	}
	p.emit()
}

// layerDone returns the progress of a message's layer. isLayer is false for other messages, such as the tag's or the
// digest's.
func layerDone(message jsonstream.Message) (done float64, isLayer bool) {
	switch message.Status {
	case "Pulling fs layer", "Waiting", "Verifying Checksum":
		return 0, true
	case "Downloading":
		return downloadShare * fraction(message.Progress), true
	case "Download complete":
		return downloadShare, true
	case "Extracting":
		return downloadShare + extractShare*fraction(message.Progress), true
	case "Pull complete", "Already exists":
		return 1, true
	}
	return 0, false
}

func fraction(progress *jsonstream.Progress) float64 {
	if progress == nil || progress.Total <= 0 {
		return 0
	}
	return min(1, max(0, float64(progress.Current)/float64(progress.Total)))
}

// emit reports a number once: -1 while no size is known, 100 only from done.
func (p *pullProgress) emit() {
	percent := -1
	if p.started {
		sum := 0.0
		for _, done := range p.layers {
			sum += done
		}
		percent = min(99, int(100*sum/float64(len(p.layers))))
	}
	if percent > p.last {
		p.last = percent
		p.report(percent)
	}
}

func (p *pullProgress) done() { p.report(100) }
