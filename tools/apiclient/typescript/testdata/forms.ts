import { Client, UnexpectedAnswerError } from "./client.js";

/** Calls an operation of each form, and what must fail. Prints what came back, and how each failed. */
export async function forms(client: Client, impostor: Client): Promise<void> {
  for await (const line of dripping('{"pod":"p","text":"wöb"}\n\n{"pod":"p","text":"2"}\n').getV1Logs()) {
    console.log("drop by drop", line.text);
  }
  await client.putV1BlobsDigest(new Uint8Array([0, 255]), { digest: "sha256:1" });
  const bytes = await client.getV1BlobsDigest({ digest: "sha256:1" });
  console.log("bytes", (await bytes.getReader().read()).value);
  await client.headV1BlobsDigest({ digest: "a/b?c" });
  console.log("text", await client.getMetrics());
  console.log("not ready", await client.getReadyz());
  console.log("manifest in YAML", await client.postV1Apply("kind: deployment\n", { dry_run: true, set: "ü&=" }));
  console.log("socket", client.getV1PodsPodExec({ pod: "web.1" }).href);

  const failing: { [name: string]: () => unknown } = {
    "no body, no problem": () => client.headV1BlobsDigest({ digest: "absent" }),
    "an answer of a proxy": () => impostor.getVersion(),
    "a list, where lines come": () => client.getV1Events({ kind: "deployment" }),
    "a way out of the path": () => client.getV1PodsPod({ pod: ".." }),
    "an empty name": () => client.getV1PodsPod({ pod: "" }),
    "a line without its end": async () => {
      for await (const line of client.getV1PodsPodLogs({ pod: "cut" })) {
        console.log("line", line.text);
      }
    },
    "an end by the caller": async () => {
      const ending = new AbortController();
      for await (const line of client.getV1PodsPodLogs({ pod: "open" }, { signal: ending.signal })) {
        console.log("line", line.text);
        ending.abort();
      }
    },
  };
  for (const name in failing) {
    try {
      await failing[name]();
      console.log(name, "did not fail");
    } catch (error) {
      const known = error instanceof UnexpectedAnswerError ? ` [${error.status} ${error.text.trim()}]` : "";
      console.log(`${name}: ${String(error)}${known}`);
    }
  }
}

/** Returns a client to which each answer comes in lines, a byte at a time. */
function dripping(answer: string): Client {
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      for (const byte of new TextEncoder().encode(answer)) {
        controller.enqueue(new Uint8Array([byte]));
      }
      controller.close();
    },
  });
  const headers = { "Content-Type": "application/jsonl" };
  return new Client({ server: "http://dripping", fetch: async () => new Response(body, { headers }) });
}
