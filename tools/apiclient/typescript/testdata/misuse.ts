import { Client, Event, Manifest } from "./client.js";

// The compiler must refuse each line that ends with a code, and no other line. Where newer compilers have another code
// for the same error, the line has both.

const client = new Client({ server: "http://127.0.0.1:8686" });
new Client({ token: "t" }); // TS2345

const noName: Manifest = { kind: "deployment", scope: "prod", spec: {} }; // TS2741
const strangeField: Manifest = { kind: "deployment", name: "web", spec: {}, speck: {} }; // TS2322
const numberAsText: Manifest = { kind: "deployment", name: 1, spec: {} }; // TS2322

export async function misuse(event: Event): Promise<void> {
  await client.postV1Apply({ kind: "deployment" }); // TS2345
  await client.postV1Apply(noName, { dryRun: true }); // TS2345
  await client.postV1Apply(noName, { dry_run: "yes" }); // TS2322
  await client.getV1ObjectsKind(); // TS2554
  await client.getV1ObjectsKind({ scope: "prod" }); // TS2345
  await client.postV1Resume({ unknown: "forget" }); // TS2322
  await client.putV1BlobsDigest({ a: 1 }, { digest: "sha256:1" }); // TS2345
  await client.getV1Everything(); // TS2339

  const list = await client.getV1ObjectsKind({ kind: "deployment" });
  list.items.length; // TS2531 TS18047
  list.objects; // TS2339
  event.data.image; // TS2571 TS18046
  const revision: string = list.revision; // TS2322
  for await (const line of client.getV1Logs({})) {
    line.message; // TS2339
  }
  for await (const line of client.getV1ObjectsKind({ kind: "deployment" })) {} // TS2504
  console.log(revision, strangeField, numberAsText);
}
