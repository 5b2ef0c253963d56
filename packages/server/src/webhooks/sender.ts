/**
 * Sends what is due to one target. The store knows what waits and for how long; here is only what is under way.
 *
 * Invariants
 *   W1. A delivery is repeated until its end is recorded: at least once, also across a kill.
 *   W2. Of a lane at most one delivery is under way; the store hands out the next one after the end of the one before.
 *   W3. Nothing is looked for without a reason: a commit, the end of an attempt, or the time of the next one.
 */
import { hexId } from '@parley/protocol'
import { shownEvent } from '../secrets/index.ts'
import type { Delivery, DeliveryBody, OutboxStore } from '../storage/index.ts'
import { post, TIMEOUT_MS } from './post.ts'
import { Reach } from './reach.ts'
import { judge, type Verdict } from './retry.ts'
import { signatureHeaders } from './sign.ts'
import type { WebhookTarget } from './target.ts'

/** Attempts under way at the same time, per target. */
const AT_ONCE = 16
/** The store failed: look again after this long. */
const STORE_PAUSE_MS = 1000
/** A timer says nothing about a machine that slept: while something waits, the clock is looked at this often. */
const LONGEST_NAP_MS = 60_000

export type SenderDeps = {
  target: WebhookTarget
  outbox: OutboxStore
  now: () => Date
  log: { warn(fields: object, message: string): void; error(fields: object, message: string): void }
  /** A batch of events is over, however it ended. */
  onBatchOver: (id: Delivery['conversation_id']) => void
  timeoutMs?: number
}

export class Sender implements AsyncDisposable {
  readonly #deps: SenderDeps
  readonly #closing = new AbortController()
  readonly #underWay = new Map<string, Promise<void>>()
  readonly #reach: Reach
  #looking: Promise<void> | null = null
  #hasNews = false
  #timer: NodeJS.Timeout | undefined

  constructor(deps: SenderDeps) {
    this.#deps = deps
    this.#reach = new Reach(deps.target.retry_delay * 1000)
  }

  /** Something may be due. */
  wake(): void {
    this.#hasNews = true
    if (this.#looking !== null || this.#closing.signal.aborted) return
    this.#looking = this.#look().finally(() => {
      this.#looking = null
      if (this.#hasNews) this.wake()
    })
  }

  async #look(): Promise<void> {
    const { outbox, target, now, log } = this.#deps
    clearTimeout(this.#timer)
    while (this.#hasNews && !this.#closing.signal.aborted) {
      this.#hasNews = false
      try {
        const at = now().toISOString()
        const room = () => this.#reach.room(this.#underWay.size, AT_ONCE, now().getTime())
        // Those under way are still due, so that this many always hold a free one if there is any.
        const due = room() > 0 ? await outbox.due(target.base_url, at, AT_ONCE) : []
        for (const delivery of due) if (room() > 0) this.#start(delivery)
        const away = this.#reach.waitMs(now().getTime())
        if (away !== null) {
          // The end of an attempt that is under way looks again by itself.
          if (this.#underWay.size === 0) this.#wakeIn(away)
          continue
        }
        const next = await outbox.nextDue(target.base_url, at)
        if (next !== null) this.#wakeIn(Date.parse(next) - now().getTime())
      } catch (error) {
        log.error({ err: error, target: target.base_url }, 'webhook deliveries could not be read')
        this.#wakeIn(STORE_PAUSE_MS)
      }
    }
  }

  #wakeIn(ms: number): void {
    clearTimeout(this.#timer)
    if (this.#closing.signal.aborted) return
    this.#timer = setTimeout(() => this.wake(), Math.min(Math.max(ms, 1), LONGEST_NAP_MS))
    this.#timer.unref()
  }

  #start(delivery: Delivery): void {
    if (this.#underWay.has(delivery.id)) return
    const over = this.#attempt(delivery).finally(() => {
      this.#underWay.delete(delivery.id)
    })
    const handled = over.then(
      () => this.wake(),
      (error: unknown) => {
        if (this.#closing.signal.aborted) return
        this.#deps.log.error({ err: error, delivery: delivery.id }, 'a webhook delivery could not be recorded')
        this.#wakeIn(STORE_PAUSE_MS)
      },
    )
    this.#underWay.set(delivery.id, handled)
  }

  async #attempt(delivery: Delivery): Promise<void> {
    const { target, outbox, now, log, onBatchOver, timeoutMs = TIMEOUT_MS } = this.#deps
    const { signal } = this.#closing
    const body = await outbox.body(delivery.id)
    const { url, headers, text } = request(target, delivery, body, now())
    const answer = body === null ? null : await post(url, headers, text, timeoutMs, signal)
    const at = now()
    const isSent = answer?.kind !== 'unreached'
    if (answer?.kind === 'unreached') this.#reach.unreached(at.getTime())
    if (answer?.kind === 'answered') this.#reach.answered()
    const first = delivery.first_attempt_at === null ? at.getTime() : Date.parse(delivery.first_attempt_at)
    const progress = {
      baseMs: target.retry_delay * 1000,
      attempts: delivery.attempts + (isSent ? 1 : 0),
      sinceFirstMs: at.getTime() - first,
    }
    const verdict: Verdict =
      answer === null ? { status: 'parked', reason: 'what it carried is no longer stored' } : judge(answer, progress)
    const last_status = answer?.kind === 'answered' ? answer.status : null
    await outbox.record(delivery.id, { at: at.toISOString(), last_status, isSent, ...outcome(verdict, at) })
    if (verdict.status === 'pending') return
    if (verdict.status === 'parked') {
      const { id, conversation_id, topic } = delivery
      log.warn(
        { target: target.base_url, delivery: id, conversation_id, topic, reason: verdict.reason },
        'a webhook delivery was parked',
      )
    }
    if (delivery.kind === 'events') onBatchOver(delivery.conversation_id)
  }

  /** Breaks off what is under way: it stays pending, and is sent by the next process. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#closing.abort(new Error('closing'))
    clearTimeout(this.#timer)
    await this.#looking
    await Promise.all(this.#underWay.values())
  }
}

function outcome(verdict: Verdict, at: Date) {
  switch (verdict.status) {
    case 'delivered':
      return { status: verdict.status, last_error: null }
    case 'parked':
      return { status: verdict.status, last_error: verdict.reason }
    case 'pending': {
      const next_attempt_at = new Date(at.getTime() + verdict.waitMs).toISOString()
      return { status: verdict.status, last_error: verdict.reason, next_attempt_at }
    }
  }
}

/** Source: agent-server-wire.md 7, design.md 4. */
function request(
  target: WebhookTarget,
  { id, conversation_id, topic, sequence }: Delivery,
  body: DeliveryBody | null,
  now: Date,
) {
  const isBatch = body?.kind === 'events'
  const path = isBatch ? `/events/${hexId(conversation_id)}` : '/conversations'
  const text = isBatch ? JSON.stringify(body.events.map(({ event }) => shownEvent(event))) : (body?.payload ?? '')
  const headers = {
    ...lowered(target.headers),
    'content-type': 'application/json',
    'x-parley-event': topic,
    'x-parley-sequence': String(sequence),
    ...(target.api_key === null ? {} : { 'x-session-api-key': target.api_key }),
    ...signatureHeaders(id, Math.floor(now.getTime() / 1000), text, target.secret),
  }
  return { url: target.base_url + path, headers, text }
}

/** So that ours replace configured ones of the same name, whatever their case. */
const lowered = (headers: Readonly<Record<string, string>>) =>
  Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]))
