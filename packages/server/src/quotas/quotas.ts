import { FairSlots } from '../lib/index.ts'
import type { LimitsOf } from './limits.ts'
import { OpenCount } from './open-count.ts'
import { UserRate } from './user-rate.ts'

/** Share of the run slots that only users without a run may take. Source: docs/quotas.md, Runs and starts. */
const RESERVED = 1 / 8

export type QuotaOptions = {
  limits: LimitsOf
  /** Runs of all users at the same time. */
  maxConcurrentRuns: number
  /** True where several users share the server. */
  isShared: boolean
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

  constructor({ limits, maxConcurrentRuns: count, isShared }: QuotaOptions) {
    this.limits = limits
    const reserved = isShared ? Math.ceil(count * RESERVED) : 0
    this.runs = new FairSlots({ count, mostOf: (user) => limits(user).runs, reserved })
    this.starts = new FairSlots({ count: Infinity, mostOf: (user) => limits(user).starts })
    this.newConversations = new UserRate('starts_per_minute', limits)
    this.requests = new UserRate('requests_per_minute', limits)
    this.sockets = new OpenCount('sockets', limits)
  }

  /** Counts a new conversation. @throws ParleyError `rate_limited` */
  expectNewConversation(user: string): void {
    const refusal = this.newConversations.refusalOf(user)
    if (refusal !== null) throw refusal
  }
}
