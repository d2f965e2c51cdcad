import { Client, Manifest, ProblemError } from "./client.js";

/** Applies a deployment, lists those of its scope, and follows it until it runs as declared. */
export async function deploy(client: Client, image: string): Promise<void> {
  const web: Manifest = { kind: "deployment", scope: "prod", name: "web", spec: { image, replicas: 2 } };
  try {
    const applied = await client.postV1Apply(web, { force_conflicts: true });
    for (const object of applied.objects ?? []) {
      console.log(`${object.kind}/${object.scope}/${object.name}: ${object.action}`);
    }
  } catch (error) {
    if (!(error instanceof ProblemError)) {
      throw error;
    }
    console.log(`not applied: ${error.message}`);
    console.log(`next: ${error.problem.next ?? "-"}`);
    return;
  }
  const list = await client.getV1ObjectsKind({ kind: "deployment", scope: "prod" });
  for (const object of list.items ?? []) {
    console.log(`${object.name}, generation ${object.metadata.generation ?? 0}`);
  }
  const about = { kind: "deployment", scope: "prod", name: "web", since: String(list.revision) };
  for await (const event of client.getV1EventsStream(about)) {
    console.log(`${event.type} ${event.subject ?? ""}`);
    if (event.type === "deployment.reconciled") {
      break; // closes the connection
    }
  }
}
