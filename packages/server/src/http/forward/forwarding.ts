/**
 * Requests that reach a node which does not own their conversation are passed on to its owner, over the public API.
 *
 * Invariants
 *   P1. The node that a client reaches authenticates the request and counts it; the owner authenticates it again, and records it.
 *   P2. The address of the owner comes from the store alone.
 *   P3. A request is passed on at most once (`hop.ts`).
 *   P4. A request that may have taken effect is not repeated, unless it only reads.
 */
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http'
import { setTimeout as wait } from 'node:timers/promises'
import { type ConversationId, ParleyError } from '@parley/protocol'
import type { Actor } from '../../conversation/index.ts'
import type { Coordination } from '../../coordination/index.ts'
import type { ForwardOutcome, Log } from '../../observability/index.ts'
import type { Cipher } from '../../secrets/index.ts'
import type { AddressOf } from '../core/client-address.ts'
import { type Hop, HOP_HEADER, HOP_KEY, Hops, type Target } from './hop.ts'
import { NodeWatch } from './node-watch.ts'
import { isHopRefused } from './not-owner.ts'
import { type OtherNode, Owners, type OwnersDeps, type Served } from './owners.ts'
import { NodeConnections, type Outgoing, passedOn, sendTo } from './request-to-node.ts'

/** Milliseconds before the row of a conversation is read again: the lock of a node that was killed ends a moment after it. */
const AGAIN_MS = [50, 150, 400]

export type ForwardingDeps = OwnersDeps & {
  coordination: Pick<Coordination, 'claim' | 'isShared' | 'node' | 'nodes'>
  cipher: Pick<Cipher, 'keyFor'>
  /** Number of the nodes that share the store, a few seconds ago. */
  nodes: () => number
  /** The conversation of the demo that a user started last; null without one. */
  demoOf: (user: string) => Promise<ConversationId | null>
  /** The address that a request of a client is counted under. */
  addressOf: AddressOf
  /** Called with each attempt to pass a request or a socket on. */
  onForward: (kind: 'request' | 'socket', outcome: ForwardOutcome) => void
  log: Pick<Log, 'warn' | 'error'>
}

/** A request that arrived, for a conversation. `outgoing`: the same request as it is sent; called once, before it is sent. */
export type Arrived = {
  id: ConversationId
  actor: Actor
  request: IncomingMessage
  outgoing: () => Promise<Outgoing>
}

export class Forwarding implements Disposable {
  readonly connections = new NodeConnections()
  readonly #deps: ForwardingDeps
  readonly #owners: Owners
  readonly #hops: Hops
  readonly #watch: NodeWatch
  /** By the headers of the request, which the parts of a request share. */
  readonly #received = new WeakMap<IncomingHttpHeaders, Hop>()

  constructor(deps: ForwardingDeps) {
    this.#deps = deps
    this.#owners = new Owners(deps)
    this.#hops = new Hops(deps.cipher.keyFor(HOP_KEY))
    this.#watch = new NodeWatch(deps.coordination, deps.log)
  }

  /** False for the only node of a store, which passes nothing on. */
  get isShared(): boolean {
    return this.#deps.coordination.isShared
  }

  /** Reads the hop of a request that arrives; false when it is not valid. */
  receive(request: IncomingMessage): boolean {
    if (!this.isShared || request.headers[HOP_HEADER] === undefined) return true
    const hop = this.#hops.read(request.headers, { method: request.method ?? '', url: request.url ?? '' })
    if (hop === null || hop === 'refused') return false
    this.#received.set(request.headers, hop)
    if (hop.host !== null) request.headers.host = hop.host
    return true
  }

  /** True for a request that another node has passed on. */
  isPassedOn(headers: IncomingHttpHeaders): boolean {
    return this.#received.has(headers)
  }

  /** The address that a request is counted under, which a node says about the client of a request that it passes on. */
  readonly addressOf: AddressOf = (request) => {
    const hop = this.#received.get(request.headers)
    return hop === undefined ? this.#deps.addressOf(request) : (hop.address ?? undefined)
  }

  /** True while no other node shares the store, so that a request on a machine can mean this one only. */
  get isAlone(): boolean {
    return this.#deps.nodes() === 1
  }

  /** True for a conversation of this user. */
  async isOwn(id: ConversationId, { user }: Actor): Promise<boolean> {
    return (await this.#deps.userOf(id)) === user
  }

  /** The conversation of the demo of the user; null without one. */
  demoOf({ user }: Actor): Promise<ConversationId | null> {
    return this.#deps.demoOf(user)
  }

  /** Where a request is served. @throws ParleyError `unavailable` for a conversation whose machine is away */
  served(id: ConversationId, actor: Actor, { headers }: IncomingMessage): Promise<Served> {
    return this.isPassedOn(headers) ? this.servedHere(id) : this.#owners.of(id, actor.user)
  }

  /** Where a request is served that another node has passed on. @throws as `served` */
  servedHere(id: ConversationId): Promise<'here' | 'misdirected'> {
    return this.#owners.ofHop(id)
  }

  /** The node did not take a request: where it is served instead. `attempt` counts from 1. */
  async servedInstead(id: ConversationId, actor: Actor, request: IncomingMessage, attempt: number): Promise<Served> {
    this.forget(id)
    const ms = AGAIN_MS[attempt - 1]
    if (ms === undefined) throw unreachable(id)
    await wait(ms)
    return this.served(id, actor, request)
  }

  /** The next request for a conversation asks the store for its owner. */
  forget(id: ConversationId): void {
    this.#owners.forget(id)
  }

  /** Headers of a request that is passed on: those of the client, and the hop. */
  headersTo(request: IncomingMessage, target: Target): Record<string, string | string[]> {
    const { host: _host, expect: _expect, [HOP_HEADER]: _hop, ...headers } = passedOn(request.headers)
    return { ...headers, [HOP_HEADER]: this.hopTo(request, target) }
  }

  /** The hop alone. */
  hopTo(request: IncomingMessage, target: Target): string {
    return this.#hops.sign(this.#hopFor(request), target)
  }

  noteForward(kind: 'request' | 'socket', outcome: ForwardOutcome): void {
    this.#deps.onForward(kind, outcome)
  }

  /** Calls `lost` when a node is no longer alive, until disposal. */
  guard({ node }: OtherNode, lost: () => void): Disposable {
    return this.#watch.guard(node, lost)
  }

  /**
   * Passes a request on to the owner of its conversation. `here`: this node serves it; its body is as it was.
   * @param gone aborts when the client has gone away
   * @throws ParleyError `unavailable` when no owner takes it, and when its outcome is not known
   */
  async pass(arrived: Arrived, gone: AbortSignal): Promise<Exclude<Served, OtherNode> | IncomingMessage> {
    const { id, actor, request } = arrived
    let served = await this.served(id, actor, request)
    if (typeof served === 'string') return served
    const outgoing = await arrived.outgoing()
    for (let attempt = 1; typeof served !== 'string'; attempt += 1) {
      const to = served
      const lost = new AbortController()
      const guard = this.guard(to, () => lost.abort())
      const outcome = await sendTo(this.connections, to.url, outgoing, AbortSignal.any([gone, lost.signal]))
      this.noteForward('request', outcome.kind)
      if (outcome.kind === 'answered') {
        const { response } = outcome
        response.once('close', () => guard[Symbol.dispose]())
        if (isHopRefused(response)) throw this.#refused(to, response)
        return response
      }
      guard[Symbol.dispose]()
      gone.throwIfAborted()
      this.#deps.log.warn(
        { conversation_id: id, node: to.node, attempt, outcome: outcome.kind, err: outcome.error },
        'request not taken by the owner',
      )
      if (outcome.kind === 'lost' && outgoing.method !== 'GET') throw unknownOutcome(id)
      served = await this.servedInstead(id, actor, request, attempt)
    }
    return served
  }

  [Symbol.dispose](): void {
    this.#watch[Symbol.dispose]()
    this.connections[Symbol.dispose]()
  }

  #hopFor(request: IncomingMessage): Hop {
    const { headers } = request
    return {
      from: this.#deps.coordination.node,
      address: this.#deps.addressOf(request) ?? null,
      host: headers.host ?? null,
    }
  }

  #refused({ node }: OtherNode, response: IncomingMessage): ParleyError {
    response.resume()
    this.#deps.log.error({ node }, 'hop refused: the nodes have different secret keys, or their clocks differ')
    return new ParleyError('unavailable', 'The nodes of this server do not accept requests of each other.')
  }
}

const unreachable = (id: ConversationId): ParleyError =>
  new ParleyError('unavailable', `The owner of conversation ${id} does not answer. Try again in a moment.`, {
    details: { conversation_id: id },
  })

const unknownOutcome = (id: ConversationId): ParleyError =>
  new ParleyError(
    'unavailable',
    `The owner of conversation ${id} was lost during the request, which may have taken effect. Read the conversation, ` +
      'or send the request again with the same event_id or Idempotency-Key.',
    { details: { conversation_id: id } },
  )
