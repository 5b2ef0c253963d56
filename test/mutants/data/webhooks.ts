/** Delivery of webhooks, and its storage. */
import type { MutatedFile } from '../mutant.ts'

const at = (name: string) => `packages/server/src/webhooks/${name}`
const store = (name: string) => `packages/server/src/storage/sqlite/${name}`

const ofStore = [store('deliveries.test.ts'), at('deliver.test.ts'), at('sender.test.ts')]

export const webhooks: readonly MutatedFile[] = [
  {
    file: at('retry.ts'),
    tests: [at('retry.test.ts')],
    mutants: [
      { before: 'status >= 200 && status < 300', after: 'status >= 200 && status < 400' },
      { before: 'status >= 400 && status < 500 && ', after: 'status >= 400 && ' },
      { before: ' && !RETRYABLE.has(status)', after: '' },
      { before: 'if (rest <= 0)', after: 'if (rest < -1)' },
      {
        before: "if (response.kind === 'unreachable') return { status: 'pending', waitMs: 0, reason }",
        after: '',
      },
      { before: '0.5 + random() / 2', after: 'random()' },
      { before: 'Math.max(waitMs, requestedMs)', after: 'waitMs' },
      { before: 'Math.min(Math.max(waitMs, requestedMs), rest, ', after: 'Math.min(Math.max(waitMs, requestedMs), ' },
    ],
  },
  {
    file: at('availability.ts'),
    tests: [at('availability.test.ts')],
    mutants: [
      { before: 'if (this.#failures === 0) return Math.max(0, limit - running)', after: '' },
      { before: 'running === 0 && now >= this.#probeAt', after: 'now >= this.#probeAt' },
      { before: 'running === 0 && now >= this.#probeAt', after: 'running === 0' },
      { before: 'if (this.#failures > 0 && now < this.#probeAt) return', after: '' },
      { before: '  onResponse(): void {\n    this.#failures = 0', after: '  onResponse(): void {' },
      { before: 'MAX_PROBE_INTERVAL_MS = 30_000', after: 'MAX_PROBE_INTERVAL_MS = 60_000' },
    ],
  },
  {
    file: at('sign.ts'),
    tests: [at('sign.test.ts')],
    mutants: [
      {
        before: 'if (secret === null) return headers',
        after: "if (secret === null) return { ...headers, 'webhook-signature': '' }",
      },
    ],
  },
  {
    file: 'packages/server/src/lib/webhook-signature.ts',
    tests: ['packages/server/src/lib/webhook-signature.test.ts'],
    mutants: [
      { before: '`${id}.${timestamp}.`', after: '`${id}.`' },
      { before: '.update(body).digest()', after: '.digest()' },
      {
        before: "secret.startsWith(PREFIX) ? secret.slice(PREFIX.length) : secret, 'base64'",
        after: "secret, 'base64'",
      },
      { before: 'Math.abs(nowMs / 1000 - Number(timestamp))', after: 'nowMs / 1000 - Number(timestamp)' },
      { before: 'WINDOW_SECONDS = 300', after: 'WINDOW_SECONDS = 600' },
      { before: ".split(' ', MAX_SIGNATURES)", after: ".split(' ')" },
      { before: "text.startsWith('v1,')", after: 'true' },
    ],
  },
  {
    file: at('post.ts'),
    tests: [at('post.test.ts')],
    mutants: [
      { before: "redirect: 'manual' as const", after: "redirect: 'follow' as const" },
      { before: '    signal.throwIfAborted()\n    if (limit', after: '    if (limit' },
      { before: 'AbortSignal.any([signal, limit])', after: 'limit' },
      { before: "NOT_SENT.has(reason) ? 'unreachable' : 'no_response'", after: "'no_response'" },
      { before: 'if (limit.aborted) return {', after: 'if (false) return {' },
    ],
  },
  {
    file: at('sender.ts'),
    tests: [at('sender.test.ts'), at('deliver.test.ts')],
    mutants: [
      { before: 'shownEvent(event)', after: 'event' },
      { before: 'if (this.#running.has(delivery.id)) return', after: '' },
      { before: 'if (freeSlots() > 0) this.#start(delivery)', after: 'this.#start(delivery)' },
      { before: 'delivery.attempts + 1', after: '1' },
      { before: 'sinceFirstMs: at.getTime() - first', after: 'sinceFirstMs: 0' },
      { before: 'body === null ? null : await post', after: 'await post' },
      { before: "if (response?.kind === 'unreachable') this.#availability.onUnreachable(this.#uptimeMs())", after: '' },
      { before: "if (response?.kind === 'response') this.#availability.onResponse()", after: '' },
      { before: "if (delivery.kind === 'events') onBatchEnd(delivery.conversation_id)", after: '' },
      { before: '      await this.#parkOld()\n', after: '' },
      { before: '(isBegun) => (isBegun ? this.wake() : ', after: '(isBegun) => (isBegun ? undefined : ' },
      {
        before: "'webhook delivery not recorded')\n        this.#wakeIn(this.#storePauseMs)",
        after: "'webhook delivery not recorded')",
      },
      {
        before: "'webhook deliveries not read')\n        this.#wakeIn(this.#storePauseMs)",
        after: "'webhook deliveries not read')",
      },
      { before: 'if (next !== null) this.#wakeIn(Date.parse(next) - now.getTime())', after: '' },
      { before: 'if (this.#running.size === 0) this.#wakeIn(probeInMs)', after: '' },
      { before: "this.#closing.abort(new Error('closing'))", after: '' },
      { before: 'last_error: decision.reason, next_attempt_at', after: 'last_error: null, next_attempt_at' },
      { before: "'x-parley-sequence': String(sequence),\n", after: '' },
      { before: 'target.api_key === null ? {} :', after: 'false ? {} :' },
      { before: '...lowerCaseNames(target.headers),', after: '...target.headers,' },
    ],
  },
  {
    file: at('batches.ts'),
    tests: [at('deliver.test.ts'), at('sender.test.ts')],
    mutants: [
      { before: 'if (hasEnded || waiting.count', after: 'if (waiting.count' },
      { before: 'if (hasEnded || waiting.count >= this.#deps.target.event_buffer_size)', after: 'if (hasEnded)' },
      { before: 'else this.#startTimer(id, waiting)', after: '' },
      { before: 'if (!isCut && !isBusy && left > 0) this.#wait(id, left)', after: '' },
      {
        before: 'for (const id of await this.#deps.outbox.behind(this.#deps.target.base_url)) this.#cut(id, 1)',
        after: '',
      },
      { before: 'this.#cut(id, this.#deps.target.event_buffer_size)', after: 'return' },
    ],
  },
  {
    file: store('deliveries.ts'),
    tests: ofStore,
    mutants: [
      { before: 'rows.length === 0 || rows.length !== (last_seq ?? 0) - sequence + 1', after: 'rows.length === 0' },
      { before: "WHERE id = ? AND status = 'pending' RETURNING", after: 'WHERE id = ? RETURNING' },
      {
        before: 'first === undefined || first.next_attempt_at !== null',
        after: 'first === undefined',
        survives: { reason: 'equivalent', why: 'the record that ends a delivery leaves no other one due in its lane' },
      },
      { before: 'attempts = attempts + ?', after: 'attempts = attempts + 1 + 0 * ?' },
      { before: 'coalesce(first_attempt_at, ?)', after: '?' },
      { before: 'this.#promote(lane, at)', after: '' },
      { before: "if (row.status === 'pending') return 'pending'", after: '', tests: ['test/storage/sqlite.test.ts'] },
      { before: 'this.#bodyOf(row) === null || ', after: '' },
      { before: 'attempts = 0, first_attempt_at = NULL', after: 'attempts = 0' },
      { before: 'finished_at < ? OR n <= ?', after: 'finished_at > ? OR n <= ?' },
      {
        before: 'AND next_attempt_at <= ? AND ${IS_SENT}',
        after: 'AND next_attempt_at >= ? AND ${IS_SENT}',
      },
      {
        before: "AND kind = ? AND status = 'pending' ORDER BY n LIMIT 1",
        after: "AND kind = ? AND status = 'pending' ORDER BY n DESC LIMIT 1",
      },
      {
        before: 'if (isBusy === undefined) this.#promote',
        after: 'this.#promote',
        tests: ['test/storage/sqlite.test.ts'],
        survives: {
          reason: 'equivalent',
          why: 'a lane with a due delivery has it first, except after a redelivery, which is then due too',
        },
      },
      { before: 'if (result.isCut) this.#announce(id)', after: '' },
    ],
  },
  {
    file: store('outbox.ts'),
    tests: ['test/storage/sqlite.test.ts'],
    mutants: [
      {
        before: "SET status = 'parked', next_attempt_at = NULL",
        after: "SET status = 'parked', next_attempt_at = next_attempt_at",
      },
    ],
  },
  {
    file: store('event-batches.ts'),
    tests: [...ofStore, 'test/storage/sqlite.test.ts'],
    mutants: [
      { before: 'const first = log.seq + 1', after: 'const first = log.seq' },
      { before: 'Math.min(end, log.seq + atMost)', after: 'end' },
      { before: "if (outbox.isLaneBusy(target, id, 'events'))", after: 'if (false)' },
      { before: '(waiting < atLeast && !isOver)', after: 'waiting < atLeast' },
      { before: 'if (isOver && last === end) outbox.unfollow(log.log, target)', after: '' },
      { before: 'if (total > maxBytes && seq > first) return seq - 1', after: '' },
      { before: 'total > maxBytes && seq > first', after: 'total > maxBytes' },
    ],
  },
  {
    file: store('outbox.ts'),
    tests: [store('deliveries.test.ts'), at('deliver.test.ts'), 'test/storage/sqlite.test.ts'],
    mutants: [
      { before: 'this.isLaneBusy(target, conversation_id, kind) ? null : at', after: 'at' },
      { before: 'if (!events) continue', after: '' },
      { before: 'if (follower.seq >= seq) this.unfollow', after: 'if (true) this.unfollow' },
      { before: "AND log IS NOT NULL AND status <> 'delivered'", after: "AND log IS NOT NULL AND status = 'pending'" },
    ],
  },
  {
    file: 'packages/server/src/storage/shared/notices.ts',
    tests: ['test/webhooks/waiting.test.ts', at('deliver.test.ts')],
    mutants: [
      { before: 'if (!draft.isOptional) sequence += 1', after: 'sequence += 1' },
      { before: 'draft.isOptional && !waiting ? [] : [name]', after: '[name]' },
    ],
  },
]
