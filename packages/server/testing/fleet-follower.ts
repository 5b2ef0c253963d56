/** A client that follows one conversation over the load balancer: a socket that is opened again after the newest event whenever it ends. */
import { setTimeout as sleep } from 'node:timers/promises'
import { WebSocket } from 'ws'
import { FLEET_KEY } from './fleet-node.ts'

const AGAIN_MS = 100
/** A load balancer ends connections to servers that do not answer; the handshake of a new one has this limit. */
const HANDSHAKE_MS = 5_000

export interface FleetFollower extends AsyncDisposable {
  /** Ids of the events that arrived: that with `seq` 1 is the first. */
  readonly ids: readonly string[]
  /** Events that came out of order. */
  readonly faults: readonly string[]
  /** How often the socket was opened. */
  readonly connections: number
  /** How many turns have finished. */
  readonly finished: number
  /** Resolves when that many turns have finished. */
  untilFinished(turns: number): Promise<void>
}

export function followFleet(url: string, id: string): FleetFollower {
  const ids: string[] = []
  const faults: string[] = []
  const ending = new AbortController()
  let connections = 0
  let finished = 0
  const waiting = new Map<number, PromiseWithResolvers<void>>()
  const take = (data: Buffer) => {
    const frame = JSON.parse(data.toString())
    if (frame.type !== 'event') return
    const { seq, event } = frame
    if (seq !== ids.length + 1) return void faults.push(`${id}: event ${seq} came after ${ids.length}`)
    ids.push(event.id)
    if (event.kind !== 'ConversationStateUpdateEvent' || event.key !== 'execution_status') return
    if (event.value === 'finished') waiting.get((finished += 1))?.resolve()
    else if (event.value !== 'running') faults.push(`${id}: event ${seq} says ${event.value}`)
  }
  const following = (async () => {
    while (!ending.signal.aborted) {
      connections += 1
      const address = `${url.replace('http', 'ws')}/sockets/session/${id}?after_seq=${ids.length}`
      const socket = new WebSocket(address, {
        headers: { 'X-Session-API-Key': FLEET_KEY },
        handshakeTimeout: HANDSHAKE_MS,
      })
      const ended = new Promise<void>((resolve) => socket.once('close', () => resolve()))
      socket.on('error', () => undefined)
      socket.on('message', take)
      const end = () => socket.terminate()
      ending.signal.addEventListener('abort', end, { once: true })
      await ended
      ending.signal.removeEventListener('abort', end)
      await sleep(AGAIN_MS, undefined, { signal: ending.signal }).catch(() => undefined)
    }
  })()
  return {
    ids,
    faults,
    get connections() {
      return connections
    },
    get finished() {
      return finished
    },
    untilFinished(turns) {
      if (finished >= turns) return Promise.resolve()
      const reached = waiting.get(turns) ?? Promise.withResolvers<void>()
      waiting.set(turns, reached)
      return reached.promise
    },
    async [Symbol.asyncDispose]() {
      ending.abort()
      await following
    },
  }
}
