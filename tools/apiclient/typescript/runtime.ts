/** Where the server is, and who calls it. */
export interface ClientOptions {
  /** The server's address, such as http://127.0.0.1:8686. */
  server: string;
  /** An access token. Left out, none is sent. */
  token?: string;
  /** What sends requests. Default: the fetch of the platform. */
  fetch?: typeof fetch;
}

/** Options of one call. */
export interface CallOptions {
  /** Ends the call, or a stream that it opened. */
  signal?: AbortSignal;
}

/** The server refused a call. The problem says why, and often what to do next. */
export class ProblemError extends Error {
  readonly status: number;
  readonly problem: ProblemBody;

  constructor(status: number, problem: ProblemBody) {
    super(`${status} ${problem.title}` + (problem.detail ? `: ${problem.detail}` : ""));
    this.name = "ProblemError";
    this.status = status;
    this.problem = problem;
  }
}

/** An answer that the server's document doesn't describe. A proxy before the server may have sent it. */
export class UnexpectedAnswerError extends Error {
  readonly status: number;
  /** The body. */
  readonly text: string;

  constructor(status: number, text: string, why: string) {
    super(`${why} (status ${status})`);
    this.name = "UnexpectedAnswerError";
    this.status = status;
    this.text = text;
  }
}

interface Content {
  media: string;
  content: string | Blob | BufferSource;
}

interface Call {
  method: string;
  path: string;
  query?: { [name: string]: string | number | boolean | undefined };
  body?: Content;
}

interface AnsweredCall extends Call {
  /** The media type of the answer; empty if it has no body. */
  media: string;
  /** The statuses that come with this answer; any other is an error. */
  statuses: number[];
}

function asJSON(value: unknown): Content {
  return { media: "application/json", content: JSON.stringify(value) };
}

/** A string is sent as it is, anything else as JSON. */
function textOrJSON(value: unknown, media: string): Content {
  return typeof value === "string" ? { media, content: value } : asJSON(value);
}

/** Encodes each value as one segment. Segments that would lead to another path are refused. */
function path(texts: TemplateStringsArray, ...values: (string | number | boolean)[]): string {
  let out = texts[0];
  values.forEach((value, i) => {
    const segment = String(value);
    if (segment === "" || segment === "." || segment === "..") {
      throw new TypeError(`${JSON.stringify(segment)} can't be part of a path: ${texts.join("…")}`);
    }
    out += encodeURIComponent(segment) + texts[i + 1];
  });
  return out;
}

/** Reads JSON values, one a line. To leave the loop over them closes the connection. */
async function* linesOf<T>(body: ReadableStream<Uint8Array>): AsyncGenerator<T, void, undefined> {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  let rest = "";
  try {
    for (;;) {
      const { done, value } = await reader.read();
      rest += decoder.decode(value, { stream: !done });
      const lines = rest.split("\n");
      rest = lines.pop() ?? "";
      for (const line of lines) {
        if (line !== "") {
          yield JSON.parse(line) as T;
        }
      }
      if (done) {
        break;
      }
    }
    if (rest !== "") {
      throw new Error("the stream ended within a line");
    }
  } finally {
    await reader.cancel();
  }
}

class Transport {
  private readonly options: ClientOptions;

  constructor(options: ClientOptions) {
    this.options = options;
  }

  async json<T>(call: AnsweredCall, options?: CallOptions): Promise<T> {
    return (await (await this.send(call, options)).json()) as T;
  }

  async *lines<T>(call: AnsweredCall, options?: CallOptions): AsyncGenerator<T, void, undefined> {
    yield* linesOf<T>(await this.bytes(call, options));
  }

  async text(call: AnsweredCall, options?: CallOptions): Promise<string> {
    return (await this.send(call, options)).text();
  }

  async bytes(call: AnsweredCall, options?: CallOptions): Promise<ReadableStream<Uint8Array>> {
    const response = await this.send(call, options);
    if (response.body === null) {
      throw new UnexpectedAnswerError(response.status, "", "the answer has no body");
    }
    return response.body;
  }

  async empty(call: AnsweredCall, options?: CallOptions): Promise<void> {
    await (await this.send(call, options)).text();
  }

  /** The address of a WebSocket. Open it with the header Authorization: Bearer and the token. */
  socket(call: Call): URL {
    const url = this.url(call);
    url.protocol = url.protocol === "https:" ? "wss:" : "ws:";
    return url;
  }

  private url(call: Call): URL {
    const url = new URL(this.options.server.replace(/\/+$/, "") + call.path);
    for (const name in call.query) {
      const value = call.query[name];
      if (value !== undefined) {
        url.searchParams.set(name, String(value));
      }
    }
    return url;
  }

  /** Returns the answer that the call describes. Every other one is an error. */
  private async send(call: AnsweredCall, options?: CallOptions): Promise<Response> {
    const headers = new Headers({ Accept: call.media === "" ? "*/*" : `${call.media}, application/problem+json` });
    if (this.options.token !== undefined) {
      headers.set("Authorization", `Bearer ${this.options.token}`);
    }
    if (call.body !== undefined) {
      headers.set("Content-Type", call.body.media);
    }
    const { fetch: given = fetch } = this.options;
    const response = await given(this.url(call), {
      method: call.method,
      headers,
      body: call.body?.content,
      signal: options?.signal,
    });
    const [media] = (response.headers.get("Content-Type") ?? "").split(";");
    const isProblem = media === "application/problem+json";
    if (isProblem || !call.statuses.includes(response.status)) {
      const text = await response.text();
      if (isProblem && text !== "") { // the answer to HEAD has no body
        throw new ProblemError(response.status, JSON.parse(text) as ProblemBody);
      }
      throw new UnexpectedAnswerError(response.status, text, `${call.method} ${call.path} failed`);
    }
    if (call.media !== "" && media !== call.media) {
      await response.body?.cancel();
      throw new UnexpectedAnswerError(response.status, "", `want an answer in ${call.media}, not ${media || "bytes"}`);
    }
    return response;
  }
}
