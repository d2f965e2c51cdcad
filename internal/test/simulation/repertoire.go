package simulation

import "math/rand/v2"

// action is an event that may happen in a step, with its weight.
type action struct {
	name   string
	weight int
	do     func(w *World, random *rand.Rand)
}

// repertoire lists all actions with their weights.
var repertoire = []action{
	{"apply", 20, applySomething},
	{"apply files", 4, applyFiles},
	{"apply an ingress", 4, applyIngress},
	{"apply a folder", 3, applyFolder},
	{"delete", 4, deleteSomething},
	{"delete and apply again", 8, replaceSomething},
	{"apply and delete in a hurry", 3, hasten},
	{"config", 6, setConfig},
	{"scale", 5, scaleSomething},
	{"roll back", 4, rollBackSomething},
	{"restart", 3, restartSomething},
	{"rebootstrap", 2, rebootstrapSomething},
	{"stop", 3, stopSomething},
	{"start", 3, startSomething},
	{"run", 5, runSomething},
	{"run the release command", 2, runRelease},
	{"exec", 2, execSomething},
	{"delete with all it had", 2, wipe},

	{"kill a container", 2, killByHand},
	{"remove a container", 2, rmByHand},
	{"stop a container", 2, stopByHand},
	{"a container exits", 2, crash},
	{"take a container off its network", 1, detach},
	{"a container runs out of memory", 1, outOfMem},
	{"retag an image", 2, retag},
	{"lose an image", 1, loseImage},
	{"copy the store", 2, backUp},

	{"lose answers of the store", 3, loseAnswers},
	{"stall the store", 2, stallStore},
	{"fill the store", 1, fillStore},
	{"delay the watch", 2, delayWatch},
	{"lose heartbeats", 2, loseHeartbeats},
	{"compact the store", 1, compact},
	{"disconnect the engine", 2, disconnectEngine},
	{"restart the engine", 2, restartEngine},
	{"crash the engine", 1, crashEngine},
	{"slow down the engine", 2, slowEngine},
	{"an engine keeps a remnant", 2, curse},
	{"set the clock", 2, jumpClock},
	{"kill the server", 3, killServer},
	{"kill the server soon", 3, killSoon},
	{"kill the server, move the containers", 2, killLate},
	{"restart the server", 1, stopServer},
	{"damage files", 1, damage},
	{"start with an empty store", 1, unmount},
	{"restore an older store", 3, restore},
	{"restore a namesake", 1, restoreNamesake},
}

var totalWeight = func() (sum int) {
	for _, a := range repertoire {
		sum += a.weight
	}
	return sum
}()

// draw chooses the next action.
func draw(random *rand.Rand) action {
	n := random.IntN(totalWeight)
	for _, a := range repertoire {
		if n -= a.weight; n < 0 {
			return a
		}
	}
	panic("weights don't add up")
}
