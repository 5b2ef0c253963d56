import type { UserQuotas } from '@parley/protocol'
import { FairSlots } from '../lib/index.ts'
import type { UsageStore } from '../storage/index.ts'
import { type LimitName, LIMITS, type LimitsOf } from './limits.ts'
import { OpenCount } from './open-count.ts'
import { fullStore, refused, spentMonth, type UsedUp } from './refusal.ts'
import { Uploads } from './uploads.ts'
import { UserRate } from './user-rate.ts'

/** Share of the run slots that only users without a run may take. Source: docs/quotas.md, Runs and starts. */
const RESERVED = 1 / 8

export type QuotaOptions = {
  limits: LimitsOf
  /** Runs of all users at the same time. */
  maxConcurrentRuns: number
  /** True where several users share the server. */
  isShared: boolean
  usage: UsageStore
  /** Number of the nodes that share the limits of requests, runs and starts. */
  nodes: () => number
  now: () => Date
}

/** What users use, and whether they may use more; one per process. Source: docs/quotas.md. */
export class Quotas {
  readonly limits: LimitsOf
  /** One is taken by each run. */
  readonly runs: FairSlots
  /** One is taken by each start of a conversation. */
  readonly starts: FairSlots
  readonly newConversations: UserRate
  readonly requests: UserRate
  /** Open sockets and event streams. */
  readonly sockets: OpenCount
  /** Commands and programs on this machine that have not ended. */
  readonly processes: OpenCount
  readonly uploads: Uploads
  readonly #usage: UsageStore
  readonly #now: () => Date

  constructor({ limits, maxConcurrentRuns: count, isShared, usage, nodes, now }: QuotaOptions) {
    this.limits = limits
    this.processes = new OpenCount('processes', limits)
    this.uploads = new Uploads(limits, usage, now)
    this.#usage = usage
    this.#now = now
    const reserved = isShared ? Math.ceil(count * RESERVED) : 0
    const share = (limit: number) => Math.ceil(limit / nodes())
    this.runs = new FairSlots({ count, mostOf: (user) => share(limits(user).runs), reserved })
    this.starts = new FairSlots({ count: Infinity, mostOf: (user) => share(limits(user).starts) })
    this.newConversations = new UserRate('starts_per_minute', limits, nodes)
    this.requests = new UserRate('requests_per_minute', limits, nodes)
    this.sockets = new OpenCount('sockets', limits)
  }

  /** Counts a new conversation. @throws ParleyError `rate_limited`, `insufficient_storage` */
  async expectNewConversation(user: string): Promise<void> {
    await this.expectRoom(user)
    const refusal = this.newConversations.refusalOf(user)
    if (refusal !== null) throw refusal
  }

  /** Which limit leaves no room for further events, or no money for further answers of models; null: none. */
  async usedUp(user: string): Promise<UsedUp | null> {
    return (await this.#withoutRoom(user)) ?? this.#withoutMoney(user)
  }

  /** @throws ParleyError `insufficient_storage` when the user stores too much for new conversations and messages */
  async expectRoom(user: string): Promise<void> {
    const full = await this.#withoutRoom(user)
    if (full !== null) throw refused(full)
  }

  /** @throws ParleyError `conflict` when the user has spent what a month allows */
  async expectMoney(user: string): Promise<void> {
    const spent = await this.#withoutMoney(user)
    if (spent !== null) throw refused(spent)
  }

  /** The limits of a user, in the order of the documentation, and how much of them is used. */
  async of(user: string): Promise<UserQuotas> {
    const limits = this.limits(user)
    const stored = await this.#usage.of(user, this.#now())
    const [runs, starts] = [this.runs.of(user), this.starts.of(user)]
    const used: Record<LimitName, number | null> = {
      runs: runs.held,
      starts: starts.held,
      starts_per_minute: this.newConversations.used(user),
      requests_per_minute: this.requests.used(user),
      sockets: this.sockets.used(user),
      processes: this.processes.used(user),
      monthly_cost_usd: stored.cost_usd,
      stored_bytes: stored.stored_bytes,
      upload_bytes: null,
      upload_bytes_per_day: stored.uploaded_bytes,
    }
    const waiting: Partial<Record<LimitName, number>> = { runs: runs.waiting, starts: starts.waiting }
    const quotas = Object.keys(LIMITS).map((each) => {
      const name = each as LimitName
      const limit = limits[name] === Infinity ? null : limits[name]
      return { name, limit, used: used[name], waiting: waiting[name] ?? 0 }
    })
    return { user, quotas, unpriced_answers: stored.unpriced_answers }
  }

  /** Those of every user with a stored counter. */
  async all(): Promise<UserQuotas[]> {
    return Promise.all((await this.#usage.users()).map((user) => this.of(user)))
  }

  async #withoutRoom(user: string): Promise<UsedUp | null> {
    const limit = this.limits(user).stored_bytes
    if (limit === Infinity) return null
    const { stored_bytes } = await this.#usage.of(user, this.#now())
    return stored_bytes < limit ? null : fullStore(limit, stored_bytes)
  }

  async #withoutMoney(user: string): Promise<UsedUp | null> {
    const limit = this.limits(user).monthly_cost_usd
    if (limit === Infinity) return null
    const now = this.#now()
    const { cost_usd } = await this.#usage.of(user, now)
    return cost_usd < limit ? null : spentMonth(limit, cost_usd, now.toISOString().slice(0, 7))
  }
}
