/** The HTTP connections of one remote workspace: a bounded pool with a read timeout. */
import { clientOf, type Egress, type Fetch } from '../../egress/index.ts'

/** Milliseconds to wait for a connection. Source: agent-core.md 12.9. */
const CONNECT_MS = 10_000
/** Milliseconds an unused connection is kept. */
const IDLE_MS = 30_000
const MAX_TIMER_MS = 2 ** 31 - 1
/** Bytes of a refusal that are read. */
const MAX_REFUSAL_BYTES = 64 * 1024
const MAX_DETAIL_CHARS = 1_000

export type ConnectionsOptions = {
  egress: Pick<Egress, 'agents'>
  /** Milliseconds without a byte after which a request fails. */
  readTimeoutMs: number
  /** Concurrent connections; further requests wait for a free one. Null: no limit. */
  maxConnections: number | null
}

export interface Connections extends Disposable {
  readonly fetch: typeof globalThis.fetch
}

/** No byte arrived within the read timeout. */
export class ReadTimeout extends Error {
  constructor(ms: number) {
    super(`no data was received for ${ms / 1000} s`)
    this.name = 'ReadTimeout'
  }
}

/** Opens no connection before the first request. Idle connections do not keep the process alive; disposal closes all. */
export function openConnections({ egress, readTimeoutMs, maxConnections }: ConnectionsOptions): Connections {
  const pool = {
    keepAlive: true,
    timeout: IDLE_MS,
    scheduling: 'lifo',
    maxSockets: maxConnections ?? Infinity,
  } as const
  const agents = egress.agents({ member: 'workspace.host' }, pool)
  const silence = { ms: Math.min(readTimeoutMs, MAX_TIMER_MS), error: (ms: number) => new ReadTimeout(ms) }
  return {
    fetch: withoutForeignBodies(clientOf({ agents, silence, connectMs: CONNECT_MS })),
    [Symbol.dispose]: () => agents[Symbol.dispose](),
  }
}

/**
 * A refusal with the `detail` of its body alone, the form of an agent server: the message of its error is shown to users, who may
 * have named the address of any server.
 */
function withoutForeignBodies(fetch: Fetch): Fetch {
  return async (url, init) => {
    const answer = await fetch(url, init)
    if (answer.ok) return answer
    const detail = detailIn(await textWithin(answer))
    return new Response(JSON.stringify({ detail }), { status: answer.status, headers: answer.headers })
  }
}

function detailIn(text: string): unknown {
  try {
    const { detail } = JSON.parse(text) as { detail?: unknown }
    if (typeof detail === 'string') return detail.slice(0, MAX_DETAIL_CHARS)
    if (Array.isArray(detail) && text.length <= MAX_DETAIL_CHARS) return detail
  } catch {
    // It is no answer of an agent server.
  }
  return 'its answer has not the form of an agent server'
}

async function textWithin(answer: Response): Promise<string> {
  const chunks: Uint8Array[] = []
  let bytes = 0
  for await (const chunk of answer.body ?? []) {
    bytes += chunk.length
    if (bytes > MAX_REFUSAL_BYTES) break
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString('utf8')
}
