/** The run loop and the durable log of one conversation. */
import type { MutatedFile } from '../mutant.ts'

const at = (name: string) => `packages/server/src/conversation/${name}`

const CONDENSATION = [at('run/condensation-request.test.ts')]
const ENDS = [at('run/run-ends.test.ts')]
const FILES = [at('run/files-recorded.test.ts')]
const SLOTS = [at('run/run-slots.test.ts')]
const SPENT = [at('run/used-up.test.ts')]
const REFUSED = [at('log/refused-appends.test.ts')]
const ROSTER = [at('live/roster.test.ts')]
const SECRETS = [at('log/current-secrets.test.ts')]
const REPEATED = [at('log/repeated-append.test.ts')]

export const run: readonly MutatedFile[] = [
  {
    file: 'packages/server/src/conversation/completions/completion-text.ts',
    tests: ['packages/server/src/conversation/completions/completion-text.test.ts'],
    mutants: [
      { before: 'new Shown([masker, makeMasker(secretValues(config))])', after: 'new Shown([masker])' },
      { before: 'new Shown([masker, makeMasker(secretValues(config))])', after: 'new Shown([])' },
      { before: '? this.#masked(name)', after: '? name' },
      { before: '.filter(({ isEmpty }) => !isEmpty)', after: '', survives: { reason: 'cost', why: 'copies texts' } },
      {
        before: 'text.length <= MAX_FRAME_BYTES && ',
        after: '',
        survives: { reason: 'cost', why: 'measures long texts' },
      },
      { before: 'Buffer.byteLength(JSON.stringify(text)) <= MAX_FRAME_BYTES', after: 'true' },
      { before: "hasType && name === 'data'", after: "name === 'data'" },
      { before: 'text.length <= MAX_FILE_BYTES && Buffer.byteLength(text) <= MAX_FILE_BYTES', after: 'true' },
      { before: "replaceAll('/', '__')", after: "replaceAll('', '')" },
      { before: 'return shown + stream.end()', after: 'return shown' },
    ],
  },
  {
    file: 'packages/server/src/conversation/completions/completion-files.ts',
    tests: ['packages/server/src/conversation/completions/completion-files.test.ts'],
    mutants: [
      { before: 'if (!NAME.test(filename)) return null', after: '' },
      { before: ' | constants.O_NOFOLLOW', after: '' },
      { before: 'stats?.isFile() === true', after: 'stats != null' },
      { before: 'bytes <= this.#limits.bytes && ', after: '' },
      { before: ' && files <= this.#limits.files', after: '' },
      { before: "if (name.endsWith('.part')) await rm", after: 'if (false) await rm' },
      { before: 'bytes -= size', after: '' },
      { before: 'known.delete(name)', after: '' },
    ],
  },
  {
    file: 'packages/server/src/conversation/completions/completion-log.ts',
    tests: ['packages/server/src/conversation/completions/completion-log.test.ts', 'test/run/completion-log.test.ts'],
    mutants: [
      { before: 'if (record().persistence_dir === null) return', after: '' },
      { before: "?.code === 'StoredBytesReached'", after: '?.code === undefined' },
      { before: 'if (this.#pending >= MAX_PENDING) return', after: 'if (false) return' },
      { before: 'if (this.#live.isClosed()) return', after: '' },
      {
        before: 'if (this.#channel.watchers > 0) ',
        after: '',
        survives: { reason: 'cost', why: 'builds an event without a receiver' },
      },
    ],
  },
  {
    file: 'packages/server/src/storage/sqlite/group-commit.ts',
    tests: ['packages/server/src/storage/sqlite/group-commit.test.ts'],
    mutants: [
      { before: 'this.#sql.written - before > LARGE_BYTES', after: 'false' },
      { before: 'this.#sql.exec(`PRAGMA wal_autocheckpoint = ${CHECKPOINT_PAGES}`)', after: '' },
      { before: "this.#sql.exec('PRAGMA wal_checkpoint(PASSIVE)')", after: '' },
    ],
  },
  {
    file: 'packages/server/src/lib/fair-slots.ts',
    tests: ['packages/server/src/lib/fair-slots.test.ts'],
    mutants: [
      { before: ' || user.held >= this.#mostOf(name)', after: '' },
      { before: 'if (user.held > 0 && this.#free <= this.#reserved) continue', after: '' },
      { before: 'user.held < chosen.held || ', after: '' },
      {
        before: 'if (!user.waiting.delete(request)) this.#giveBack(name, user)',
        after: 'user.waiting.delete(request)',
      },
      { before: 'if (isHeld) this.#giveBack(name, user)', after: 'this.#giveBack(name, user)' },
    ],
  },
  {
    file: 'packages/server/src/storage/shared/usage.ts',
    tests: ['test/storage/sqlite.test.ts'],
    mutants: [{ before: ' && event.replaces === undefined', after: '' }],
  },
  {
    file: 'packages/server/src/storage/sqlite/usage.ts',
    tests: ['test/storage/sqlite.test.ts'],
    mutants: [
      { before: 'else if (cost > 0) add', after: 'else add' },
      { before: 'if (cost === null) add', after: 'if (cost === 0) add' },
    ],
  },
  {
    file: at('run/run.ts'),
    tests: SPENT,
    mutants: [
      { before: "(todo.kind === 'think' || todo.kind === 'judge') &&", after: "todo.kind === 'think' &&" },
      { before: "(todo.kind === 'think' || todo.kind === 'judge') &&", after: "todo.kind === 'judge' &&" },
    ],
  },
  {
    file: at('titles/title-task.ts'),
    tests: SPENT,
    mutants: [
      {
        before: '(await this.#deps.usedUp(owner)) === null ? this.#deps.openLlm : undefined',
        after: 'this.#deps.openLlm',
      },
    ],
  },
  {
    file: at('engine/commands.ts'),
    tests: SPENT,
    mutants: [
      { before: "if (command.kind === 'condense') await deps.quotas.expectMoney(actor.user)", after: '' },
      { before: 'await deps.quotas.expectMoney(actor.user)\n      return live.ask', after: 'return live.ask' },
      { before: "if (command.kind === 'send_message') await deps.quotas.expectRoom(actor.user)", after: '' },
    ],
  },
  {
    file: at('hooks/open-hooks.ts'),
    tests: ['test/http/quotas.test.ts'],
    mutants: [{ before: 'await expectMoney(owner)', after: '' }],
  },
  {
    file: 'packages/server/src/http/agent-server/profiles.ts',
    tests: ['test/http/quotas.test.ts'],
    mutants: [{ before: 'await quotas.expectMoney(user)', after: '' }],
  },
  {
    file: at('live/idle-memory.ts'),
    tests: [at('live/idle-memory.test.ts')],
    mutants: [
      { before: 'else await live.dropView()', after: '' },
      { before: 'else await this.#deps.unload(id)', after: '' },
      { before: 'if (view <= left.views) left.views -= view', after: 'if (view <= left.views) left.views -= 0' },
    ],
  },
  {
    file: 'packages/server/src/quotas/uploads.ts',
    tests: ['packages/server/src/quotas/uploads.test.ts'],
    mutants: [
      { before: 'if (bytes > most) throw', after: 'if (false) throw' },
      { before: 'if (bytes > 0) await', after: 'if (false) await' },
      { before: 'day.number === number || ', after: 'true || ' },
    ],
  },
  {
    file: at('run/run.ts'),
    tests: [at('run/run.test.ts')],
    mutants: [
      { before: 'signal.throwIfAborted()\n    let todo', after: 'let todo' },
      { before: '(await conversation.mayStop(todo, signal)) && ', after: '' },
      { before: ' && (await conversation.conclude())', after: '' },
      {
        before: "todo.kind === 'think' || todo.kind === 'condense' || todo.kind === 'judge'",
        after: "todo.kind === 'think'",
      },
      { before: "todo.kind === 'think' || todo.kind === 'condense' || todo.kind === 'judge'", after: 'false' },
      { before: "signal.throwIfAborted()\n    if (todo.kind === 'condense')", after: "if (todo.kind === 'condense')" },
      { before: '    condensed()\n', after: '' },
      { before: 'if (signal.aborted) throw error', after: '' },
      { before: '    condensed(error)\n', after: '    throw error\n' },
      { before: 'ids.filter(isInherited)', after: '[]' },
      { before: 'agent.recover(complete(inherited, actions)', after: 'agent.recover(complete(ids, actions)' },
      { before: 'if (missing.length > 0) throw', after: 'if (false) throw' },
      { before: '    await slices.next()\n', after: '' },
      { before: 'abortable(drafting.next(stored), signal)', after: 'drafting.next(stored)' },
      { before: 'stored = await commit(value)', after: 'await commit(value)' },
      { before: 'stored = await commit(value)', after: 'void commit(value)' },
      { before: 'drafting.return(undefined).catch(() => undefined)', after: '' },
      { before: '      await recording\n', after: '', tests: FILES },
      { before: '      todo = conversation.next()\n', after: '', tests: FILES },
      { before: "if (todo.kind === 'think' && (await conversation.reportFiles())) continue", after: '', tests: FILES },
    ],
  },
  {
    file: at('live/asides.ts'),
    tests: [at('log/refused-appends.test.ts')],
    mutants: [
      { before: 'if (!log.isRefusal(error)) throw error', after: 'throw error' },
      { before: '      note(drafts)\n', after: '' },
    ],
  },
  {
    file: at('run/condensation-request.ts'),
    tests: CONDENSATION,
    mutants: [
      {
        before: 'if (this.#waiting === null) return\n    this.#waiting.reject(error)',
        after: 'if (this.#waiting === null) return',
      },
    ],
  },
  {
    file: at('run/running.ts'),
    tests: [at('run/running.test.ts')],
    mutants: [
      { before: 'this.#run !== null || this.#holds > 0 || this.#draining', after: 'this.#holds > 0 || this.#draining' },
      {
        before: 'this.#run !== null || this.#holds > 0 || this.#draining',
        after: 'this.#run !== null || this.#draining',
      },
      { before: 'else if (this.#isWanted) return this.start()', after: '', tests: CONDENSATION },
      { before: 'if (log.isRefusal(error)) condensation.refuse(error)', after: '', tests: CONDENSATION },
      {
        before: 'this.#run = null\n      this.#releaseSlot()\n',
        after: 'this.#run = null\n',
        tests: SLOTS,
      },
      {
        before: 'if (controller.signal.aborted) condensation.cancel(',
        after: 'if (controller.signal.aborted) void (',
        tests: CONDENSATION,
      },
      { before: 'if (this.#holds === 0 && this.#isWanted) this.start()', after: '', tests: CONDENSATION },
      { before: ' || this.#parts.condensation.isOpen\n', after: '\n', tests: CONDENSATION },
      {
        before: '    }\n    this.#releaseSlot()\n    try {\n',
        after: '    }\n    try {\n',
        tests: SLOTS,
      },
      { before: 'if (this.#waiting > 0 || this.#slot !== null || signal.aborted)', after: 'if (false)', tests: SLOTS },
      { before: 'if (this.#waiting > 0 || this.#slot', after: 'if (this.#slot', tests: SLOTS },
      { before: '.filter((id) => !awaited.has(id))', after: '' },
      { before: 'await runs.began(id, record())', after: '', tests: ENDS },
      { before: 'await abortable(start(), signal)\n', after: 'void start()\n', tests: SLOTS },
      {
        before: 'await abortable(start(), signal)\n    if (this.#slot === null) await this.#takeSlot(signal)\n',
        after: 'if (this.#slot === null) await this.#takeSlot(signal)\n    await abortable(start(), signal)\n',
        tests: SLOTS,
      },
      {
        before: 'await abortable(start(), signal)\n    if (this.#slot === null) await this.#takeSlot(signal)\n',
        after: 'await abortable(start(), signal)\n',
        tests: SLOTS,
      },
      { before: '          await turn.settle()\n', after: '', tests: ENDS },
      {
        before: 'untilStored(() => this.#commit(drafts, signal), signal)',
        after: 'inTurn(() => this.#commit(drafts, signal))',
        tests: REFUSED,
      },
      { before: 'if (log.isRefused) await untilStored', after: 'if (false) await untilStored' },
      {
        before: 'conclude: () => untilStored(() => this.#conclude(signal), signal)',
        after: 'conclude: () => inTurn(() => this.#conclude(signal))',
        tests: REFUSED,
      },
      { before: 'stuck_detection && log.view !== null', after: 'log.view !== null', tests: ENDS },
      {
        before: 'signal.throwIfAborted()\n    return this.#live.append(drafts)',
        after: 'return this.#live.append(drafts)',
      },
      { before: 'return result?.isDenied !== true', after: 'return true', tests: ENDS },
      {
        before: 'if (result !== null) await this.#untilStored',
        after: 'if (false) await this.#live.untilStored',
        tests: ENDS,
      },
      { before: "if (todo.kind !== 'stop') return false\n", after: '' },
      {
        before: 'signal.throwIfAborted()\n    const { state, append }',
        after: 'const { state, append }',
        tests: ENDS,
      },
      { before: 'if (todo.reason !== null) drafts.push', after: 'if (false) drafts.push', tests: ENDS },
      { before: 'if (todo.status !== state().execution_status) drafts.push', after: 'drafts.push', tests: ENDS },
      { before: "if (todo.status === 'stuck') this.#reportedStuck = reported", after: '', tests: ENDS },
      { before: 'if (signal.aborted || error instanceof RunCancelled) return', after: '', tests: CONDENSATION },
      { before: 'condensation.settle(error)\n    if (was', after: 'if (was', tests: CONDENSATION },
      {
        before: "wasCondensationOnly || state().start?.status === 'failed'",
        after: "state().start?.status === 'failed'",
        tests: CONDENSATION,
      },
      {
        before: "wasCondensationOnly || state().start?.status === 'failed'",
        after: 'wasCondensationOnly',
        tests: ENDS,
      },
      { before: 'for (const { id } of open_actions) this.#inherited.add(id)', after: '{}' },
      {
        before: 'if (signal.aborted || !isStoreUnavailable(err)) throw err',
        after: 'throw err',
        tests: [at('run/store-outage.test.ts')],
      },
      { before: 'signal, { isForced: true })', after: 'signal)', tests: REFUSED },
      { before: '    emitSnapshot()\n  }\n', after: '  }\n', tests: CONDENSATION },
    ],
  },
  {
    file: at('run/stuck.ts'),
    tests: [at('run/stuck.test.ts')],
    mutants: [
      { before: 'action_observation: 4,', after: 'action_observation: 5,' },
      { before: 'action_error: 3,', after: 'action_error: 4,' },
      { before: '  monologue: 3,', after: '  monologue: 4,' },
      { before: 'alternating_pattern: 6,', after: 'alternating_pattern: 5,' },
      { before: 'const WINDOW = 20', after: 'const WINDOW = 200' },
      { before: 'newest.slice(newest.findLastIndex(({ id }) => id === after) + 1)', after: 'newest' },
      { before: "event.kind === 'MessageEvent' && event.source === 'user') + 1", after: 'false) + 1' },
      {
        before: "call.answer.kind === 'AgentErrorEvent' && call.asked === last.asked",
        after: "call.answer.kind === 'AgentErrorEvent'",
      },
      {
        before: "last?.answer.kind !== 'AgentErrorEvent' || streak.length < threshold",
        after: "last?.answer.kind !== 'AgentErrorEvent'",
      },
      { before: 'at > first.at && isNudge(event)', after: 'isNudge(event)' },
      { before: 'if (last.at < nudged) return null', after: '' },
      { before: ' &&\n      call.answered === last.answered,', after: ',' },
      { before: "call.answer.kind !== 'AgentErrorEvent' &&\n      call.asked", after: 'call.asked' },
      { before: "if (event.source === 'agent' && !isNoticed) messages", after: 'if (!isNoticed) messages' },
      { before: ' && !isNoticed', after: '' },
      { before: "if (event.kind === 'CondensationSummaryEvent') continue", after: '' },
      { before: "if (event.kind !== 'MessageEvent') break", after: "if (event.kind !== 'MessageEvent') continue" },
      { before: 'newest.length < threshold || ', after: '' },
      { before: ' || newest.some((call) => call.isWait)', after: '' },
      { before: '!call.isWait &&', after: '' },
      { before: 'if (waited < limitMs) return null', after: '' },
      {
        before: 'call.asked === before.asked && call.answered === before.answered',
        after: 'call.asked === before.asked',
      },
      {
        before: 'Math.max(LEAST_ALTERNATION, thresholds.alternating_pattern)',
        after: 'thresholds.alternating_pattern',
      },
      { before: '    if (index === -1) continue\n', after: '' },
      { before: 'event.action ?? event.tool_call.arguments', after: 'event.action' },
      { before: 'if (RESTLESS.test(key)) return undefined', after: '' },
      { before: 'event.observation], steady)', after: 'event.observation])' },
      { before: 'event.error], steady)', after: 'event.error])' },
      { before: 'event.tool_name, event.rejection_reason])', after: 'event.tool_name])' },
      {
        before: 'if (first === undefined || last',
        after: 'if (last',
        survives: { reason: 'equivalent', why: 'an empty streak has no last call either' },
      },
    ],
  },
  {
    file: at('log/stamp.ts'),
    tests: [at('log/stamp.test.ts')],
    mutants: [
      { before: 'draft.id ?? newEventId()', after: 'newEventId()' },
      { before: 'seq: at.seq + 1', after: 'seq: state.seq + 1' },
      { before: 'complete(at, draft, common)', after: 'complete(state, draft, common)' },
      { before: "state.has_tree ? '__root__' : null", after: 'null' },
      { before: 'replaces ?? add(', after: 'add(' },
      { before: '{ ...state.stats, [usage.usage_id]: total }', after: '{ [usage.usage_id]: total }' },
      { before: '(old?.[key] ?? 0) + usage.tokens[key]', after: 'usage.tokens[key]' },
      { before: '(before?.accumulated_cost ?? 0) + (usage.cost ?? 0)', after: 'usage.cost ?? 0' },
      {
        before: '+ (usage.cost ?? 0)',
        after: '+ usage.cost',
        survives: { reason: 'equivalent', why: 'null counts as zero in a sum' },
      },
      { before: 'before?.max_budget_per_task ?? null', after: 'null' },
      {
        before: 'Math.max(old?.context_window ?? 0, usage.tokens.context_window)',
        after: 'usage.tokens.context_window',
      },
      { before: 'usage.tokens.prompt_tokens + usage.tokens.completion_tokens', after: 'usage.tokens.prompt_tokens' },
    ],
  },
  {
    file: at('log/live-log.ts'),
    tests: [at('log/live-log.test.ts')],
    mutants: [
      { before: 'this.#originals.get(action.id) ?? action)', after: 'action)' },
      { before: 'return this.#originals.has(id)', after: 'return true' },
      { before: 'return this.#originals.has(id)', after: 'return false' },
      { before: 'if (drafts.length === 0 && record === undefined) return []', after: '' },
      {
        before: '      const events = await this.#append(drafts, record, isEdited)\n      this.#accepted()\n',
        after: '      const events = await this.#append(drafts, record, isEdited)\n',
        tests: REFUSED,
      },
      {
        before: '      this.#refused(error)\n      throw error\n    }\n  }\n\n  /** True when the newest',
        after: '      throw error\n    }\n  }\n\n  /** True when the newest',
        tests: REFUSED,
      },
      { before: "error.code === 'unavailable') this.#refusals.add", after: 'true) this.#refusals.add', tests: REFUSED },
      { before: 'this.#deps.appendRetry.accepted()', after: '', tests: REFUSED },
      { before: '...goalEndedBy(this.#state, drafts)', after: '' },
      { before: 'this.#remember(all, hidden, events)', after: 'this.#remember(all, all, events)' },
      { before: "state.execution_status !== 'running' || state.seq", after: 'state.seq' },
      { before: 'state.seq - this.#cachedSeq >= CACHE_EVERY', after: 'false' },
      { before: 'if (isDue) this.#cachedSeq = state.seq', after: '' },
      { before: '    this.#state = state\n    this.#record = written\n', after: '    this.#record = written\n' },
      { before: '    this.#record = written\n    this.#remember', after: '    this.#remember', tests: REFUSED },
      { before: '    this.#remember(all, hidden, events)\n', after: '' },
      { before: '    this.#channel.commit(events)\n', after: '' },
      { before: 'if (loss === null) throw error', after: 'if (true) throw error', tests: ROSTER },
      { before: 'this.#deps.stamps, attempt?.events)', after: 'this.#deps.stamps)', tests: REPEATED },
      {
        before: "'unavailable') this.#refusals.add(error)\n    else this.#attempt = null",
        after: "'unavailable') this.#refusals.add(error)",
        tests: REPEATED,
      },
      {
        before: 'drafts.every((draft, index) => draft === drafts[index]) ? attempt : null',
        after: 'drafts.every(() => true) ? attempt : null',
        tests: REPEATED,
      },
      { before: '      this.#listener.onLost(loss.hasNewOwner)\n', after: '', tests: ROSTER },
      { before: '      await this.#view?.extend(commit.events)\n', after: '' },
      { before: '      this.#listener.onLost(false)\n', after: '', tests: ROSTER },
      { before: '      await this.#listener.onCommit(commit)\n', after: '', tests: ROSTER },
      { before: 'const isSame = draft === masked[at]', after: 'const isSame = true' },
      { before: 'if (!open.has(id)) this.#originals.delete(id)', after: '{}' },
      { before: 'if (!this.#deps.notifies()) return []', after: '' },
      { before: '...(topic === null ? [] :', after: '...(true ? [] :' },
      { before: '...(events.length === 0 ? {} : { masked }),', after: '', tests: SECRETS },
      { before: 'if (!isOutdated(error) || refused.times', after: 'if (true || refused.times', tests: SECRETS },
    ],
  },
  {
    file: at('log/row-changes.ts'),
    tests: [at('log/row-changes.test.ts')],
    mutants: [
      { before: '...(isSame ? {} : { status })', after: 'status' },
      { before: "isRecent && status === 'running'", after: 'isRecent' },
      { before: '< LAG_MS', after: '<= LAG_MS' },
      {
        before: 'Math.abs(updatedAt.getTime() - stored.updatedAt.getTime())',
        after: 'updatedAt.getTime() - stored.updatedAt.getTime()',
      },
    ],
  },
  {
    file: at('log/refusals.ts'),
    tests: ROSTER,
    mutants: [
      {
        before: "error.code === 'not_found' || reason === 'epoch'",
        after: "error.code === 'not_found'",
      },
      { before: "return reason === 'seq' ? { hasNewOwner: false } : null", after: 'return null' },
    ],
  },
]
