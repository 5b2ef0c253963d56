/** HTTP client for the APIs of models: one pool of kept-alive connections, shared by all models of a server. */
import { clientOf, type Egress, type Fetch as Send } from '../../egress/index.ts'
import type { ModelRequest } from '../../observability/index.ts'
import { Images } from '../images/inline-images.ts'
import { ImageShrinker } from '../images/shrinker.ts'
import { AskedWindows } from './asked-windows.ts'
import { NO_SERVER_KEY, type ServerKey } from '../server-key.ts'

/** The providers' libraries call this with a URL, and with plain headers and a text body in `init`. */
export type Fetch = typeof globalThis.fetch

export type TransportOptions = {
  egress: Pick<Egress, 'agents' | 'narrowed'>
  /** Milliseconds an unused connection is kept; default 90,000. A tool call often takes longer than servers usually keep one. */
  idleMs?: number
  /** Default: none. */
  serverKey?: ServerKey
  /** Base address of the configured model, which every user may request; default: none. */
  configuredUrl?: string | null
  /** Called with each request to a model that has ended; default: nothing. */
  onRequest?: (request: ModelRequest) => void
}

export interface Transport extends Disposable {
  /**
   * Returns a `fetch` that fails with `SilenceError` after `silenceMs` without a byte in either direction; null waits
   * forever.
   */
  fetch(silenceMs: number | null): Fetch
  /** Downloaded images, for models that do not accept image addresses. */
  readonly images: Images
  /** Makes images smaller that are too large for the models' vendors. */
  readonly shrinker: ImageShrinker
  /** Windows that servers of models report. */
  readonly windows: AskedWindows
  /** The key that requests get in place of its reference. */
  readonly serverKey: ServerKey
  /** Reports a request to a model that has ended. */
  readonly onRequest: (request: ModelRequest) => void
}

/** No byte arrived from the model's server within the time limit. */
export class SilenceError extends Error {
  constructor(ms: number) {
    super(`no byte from the model's server for ${ms / 1000} s`)
    this.name = 'SilenceError'
  }
}

/** Opens the pool. Idle connections do not keep the process alive; disposing it closes them all. */
export function openTransport({
  egress,
  idleMs = 90_000,
  serverKey = NO_SERVER_KEY,
  configuredUrl = null,
  onRequest = () => undefined,
}: TransportOptions): Transport {
  const pool = { keepAlive: true, timeout: idleMs, scheduling: 'lifo' } as const
  const agents = egress.agents({ member: 'base_url', own: [configuredUrl] }, pool)
  const ofImages = egress.narrowed.agents({ member: 'image_url' }, {})
  const fetch = (silenceMs: number | null): Fetch => {
    const silence = silenceMs === null ? null : { ms: silenceMs, error: (ms: number) => new SilenceError(ms) }
    const send: Send = clientOf({ agents, silence, resends: true })
    return async (input, init) => {
      const url = new URL(input instanceof Request ? input.url : input)
      const headers = serverKey.headersFor(url, (init?.headers ?? {}) as Record<string, string>)
      return send(url, { ...init, headers })
    }
  }
  const shrinker = new ImageShrinker()
  return {
    images: new Images({ agents: ofImages }),
    shrinker,
    windows: new AskedWindows(fetch(null)),
    serverKey,
    onRequest,
    fetch,
    [Symbol.dispose]() {
      agents[Symbol.dispose]()
      ofImages[Symbol.dispose]()
      shrinker[Symbol.dispose]()
    },
  }
}
