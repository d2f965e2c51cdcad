// Package takeover decides how a running Compose project becomes objects of Tend, service by service, without two
// writers on a volume: Plan returns the steps that are left, from what the engine and the store show now.
//
// Nothing else remembers how far a takeover is. Before a container of Compose is stopped it is renamed: the name says
// that it was taken over, which restart policy it had, and into which scope (shop-db-1.adopted-always.shop). One that
// was stopped before says so too (shop-db-2.adopted-stopped-always.shop), and stays stopped. So the caller carries out
// the first step, observes again and plans again, and a crash between any two steps needs no special case.
//
// A service's containers stop before its object is applied, and the object is gone before they start again. Their
// restart policy is switched off before they stop, so that no restart of the engine starts them beside Tend's. Services
// that write to one volume are taken over together.
//
// A plan knows the objects of one scope of one cluster. What else writes to a volume only the engine knows: the caller
// asks it, and Beside, before each step that lets a container write, and Blocked before the first container stops.
//
// Fit says what an object must have to go on from where the container stopped: the image that runs, its volumes by the
// engine's names, and the networks on which the project's other containers look for it.
//
//	steps, err := takeover.Plan(scope, services, takeover.Adopt)
package takeover
