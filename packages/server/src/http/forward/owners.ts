/** Finds the node that serves a conversation. */
import { type ConversationId, ParleyError } from '@parley/protocol'
import type { Coordination } from '../../coordination/index.ts'
import { RecentMap } from '../../lib/index.ts'
import type { NodeNumber } from '../../storage/index.ts'

/** Another node, as the store names it. */
export type OtherNode = { node: NodeNumber; url: string }
/** `here`: this node serves it, also an unknown conversation, which its route refuses. `misdirected`: only for a request with a hop. */
export type Served = 'here' | 'misdirected' | OtherNode

/** Conversations of other nodes whose owner is remembered. */
const REMEMBERED = 10_000

export type OwnersDeps = {
  coordination: Pick<Coordination, 'claim'>
  /** True for a conversation in the memory of this process. */
  isLoaded: (id: ConversationId) => boolean
  /** The user of a conversation of this store; null for an unknown one. */
  userOf: (id: ConversationId) => Promise<string | null>
}

export class Owners {
  readonly #deps: OwnersDeps
  /** The owner answers for itself: one that owns the conversation no longer answers 421, and is forgotten. */
  readonly #others = new RecentMap<OtherNode | null>(REMEMBERED)

  constructor(deps: OwnersDeps) {
    this.#deps = deps
  }

  /**
   * The node that serves a request of `user`. A conversation without a live owner becomes this node's, unless it is another user's.
   * @throws ParleyError `unavailable` for a conversation whose machine is away
   */
  async of(id: ConversationId, user: string): Promise<Served> {
    if (this.#deps.isLoaded(id)) return 'here'
    const known = this.#others.get(id) ?? null
    if (known !== null) return known
    if ((await this.#deps.userOf(id)) !== user) return 'here'
    const owner = await this.#claim(id)
    if (owner !== 'here') this.#others.set(id, owner, 1)
    return owner
  }

  /** Where a request is served that another node has passed on. */
  async ofHop(id: ConversationId): Promise<'here' | 'misdirected'> {
    if (this.#deps.isLoaded(id)) return 'here'
    return (await this.#claim(id)) === 'here' ? 'here' : 'misdirected'
  }

  /** The next request asks the store again. */
  forget(id: ConversationId): void {
    this.#others.set(id, null, 1)
  }

  async #claim(id: ConversationId): Promise<'here' | OtherNode> {
    const owner = await this.#deps.coordination.claim(id)
    if (owner.kind === 'elsewhere' && owner.url === '') throw withoutAddress(id)
    if (owner.kind === 'elsewhere') return { node: owner.node, url: owner.url }
    if (owner.kind === 'nowhere') throw away(id)
    return 'here'
  }
}

const withoutAddress = (id: ConversationId): ParleyError =>
  new ParleyError(
    'unavailable',
    `Another server owns conversation ${id}, and gives no address for other servers. Start it with PARLEY_NODE_URL.`,
    { details: { conversation_id: id } },
  )

const away = (id: ConversationId): ParleyError =>
  new ParleyError(
    'unavailable',
    `The files of conversation ${id} are on a machine that does not run at the moment. Try again when it is back.`,
    { details: { conversation_id: id } },
  )
