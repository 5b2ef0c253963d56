/** Decisions of the engine: commands, approvals, the next move of a run, and repetition. */
import type { MutatedFile } from '../mutant.ts'

const at = (name: string) => `packages/server/src/conversation/${name}`

const DELETION = [at('engine/deletion.test.ts')]

export const core: readonly MutatedFile[] = [
  {
    file: at('engine/releases.ts'),
    tests: [at('engine/releases.test.ts')],
    mutants: [
      { before: '      if (workspace === null) repeat(deleted).catch(() => undefined)\n', after: '' },
      {
        before: '(await inTime(ended, late)) && ',
        after: '',
        tests: [at('engine/releases.test.ts'), 'test/crash/hanging.test.ts'],
      },
      { before: ' && (await inTime(settled, tooLate))', after: '' },
      { before: '      await ended\n', after: '', tests: ['test/crash/hanging.test.ts'] },
    ],
  },
  {
    file: at('engine/commands.ts'),
    tests: [at('engine/commands.test.ts')],
    mutants: [
      { before: "      if (command.kind === 'start') await stopped.settled(id)\n", after: '' },
      {
        before: 'await stopped.end(id, remoteOf(record.workspace), late)',
        after: 'await workspaces.release(id, remoteOf(record.workspace))',
      },
    ],
  },
  {
    file: at('engine/deletion.ts'),
    tests: ['test/crash/hanging.test.ts'],
    mutants: [
      { before: '{ ending, late, tooLate })', after: '{ ending, tooLate })' },
      { before: '    using _hold = roster.hold(id)\n', after: '', tests: DELETION },
      { before: '  roster.deleted(id)\n', after: '', tests: DELETION },
    ],
  },
  {
    file: at('live/roster.ts'),
    tests: DELETION,
    mutants: [
      { before: '    if (this.#holds.has(id)) await this.#holds.ended(id)\n', after: '' },
      {
        before:
          "if ((err instanceof ParleyError && err.code === 'not_found') || ownedElsewhere(err) !== null) return\n",
        after: '',
      },
      { before: 'live.epoch < row.epoch', after: 'false', tests: [at('live/roster.test.ts')] },
      { before: "this.#channels.get(id)?.emit({ kind: 'deleted' })", after: '' },
    ],
  },
  {
    file: at('log/stored-conversations.ts'),
    tests: DELETION,
    mutants: [
      {
        before: '    if (events.length < seq - after) throw await this.#incomplete(id, after)\n',
        after: '',
        tests: [...DELETION, 'test/evolution/unreadable.test.ts'],
      },
      { before: 'if ((await this.#deps.storage.conversations.get(id)) !== null)', after: 'if (true)' },
    ],
  },
  {
    file: at('branch/view.ts'),
    tests: [at('branch/view.test.ts')],
    mutants: [
      { before: 'if (leaf !== null && path.at(-1)?.event.id !== leaf)', after: 'if (false)' },
      { before: 'if (page.length === 0) return null', after: 'if (page.length === 0) break' },
    ],
  },
  {
    file: at('run/next.ts'),
    tests: [at('run/next.test.ts')],
    mutants: [
      { before: "if (around.wantsCondensation) return { kind: 'condense' }", after: '' },
      { before: "if (state.execution_status !== 'running') return stop(state.execution_status)", after: '' },
      { before: "if (state.awaiting_approval !== null) return stop('waiting_for_confirmation')", after: '' },
      {
        before: "if (state.open_actions.length > 0) return { kind: 'execute'",
        after: "if (false) return { kind: 'execute'",
      },
      {
        before: "hasGoal(state) ? (withoutMoney(around) ?? { kind: 'judge' }) : stop('finished')",
        after: "stop('finished')",
      },
      {
        before: "hasGoal(state) ? (withoutMoney(around) ?? { kind: 'judge' })",
        after: "hasGoal(state) ? { kind: 'judge' }",
      },
      { before: "return withoutMoney(around) ?? { kind: 'judge' }", after: "return { kind: 'judge' }" },
      { before: 'remainingBudget?.() ?? usedUp?.()', after: 'remainingBudget?.()' },
      { before: 'remainingBudget?.() ?? usedUp?.()', after: 'usedUp?.()' },
      { before: "if (repetition?.kind === 'nudge') return repetition", after: '' },
      { before: "repetition?.kind === 'stuck' && hasGoal(state)", after: 'false' },
      { before: 'state.max_iterations ?? limits.maxIterations', after: 'limits.maxIterations' },
      { before: 'state.iterations >= max', after: 'state.iterations > max' },
      { before: 'costUsd(state) >= limits.maxBudgetUsd', after: 'costUsd(state) > limits.maxBudgetUsd' },
      { before: "withoutMoney(around) ?? { kind: 'think' }", after: "{ kind: 'think' }" },
      { before: 'state.awaiting_approval?.sub_agent !== undefined', after: 'false' },
      { before: 'goal?.active === true', after: 'goal !== null' },
      { before: 'sum + accumulated_cost', after: 'accumulated_cost' },
    ],
  },
  {
    file: at('approvals.ts'),
    tests: [at('commands.test.ts')],
    mutants: [
      { before: '    expectSame(awaited, { batch_id: named })\n', after: '' },
      { before: "status !== 'waiting_for_confirmation' || awaited === null", after: 'awaited === null' },
      { before: 'if (named === null) throw undecided(awaited)', after: '' },
      { before: '  expectSeen(awaited, approvals)\n  return', after: '  return' },
      { before: '  expectSame(awaited, response)\n', after: '' },
      { before: 'if (response.batch_id === undefined) expectSeen(awaited, approvals)', after: '' },
      { before: 'if (!isShown) throw unseen(awaited)', after: '' },
      { before: 'if (awaited.sub_agent !== undefined)\n', after: 'if (false)\n' },
      { before: 'const continues = state.goal?.active === true', after: 'const continues = false' },
      { before: 'if (isNamed && !isOf(decided_approval, response))', after: 'if (false)' },
      { before: "(decided_approval.decision === 'accept') !== accept)", after: 'false)' },
      { before: "status === 'running' && decided_approval?.decision !== 'reject'", after: "status === 'running'" },
      { before: 'batch_id !== undefined && batch_id !== waiting', after: 'false' },
      { before: 'llm_response_id !== undefined && llm_response_id !== awaited.llm_response_id', after: 'false' },
      { before: 'action_ids.length === shown.size && ', after: '' },
      { before: '&& action_ids.every((id) => shown.has(id))', after: '' },
      { before: 'open_actions.filter(({ id }) => waiting.has(id))', after: 'open_actions' },
      { before: "rejection_source: 'hook' } as Draft", after: '} as Draft' },
      { before: '      ...withoutBlocks(state, answered),\n', after: '' },
      { before: 'actions: [...actions],', after: 'actions: [],' },
    ],
  },
  {
    file: at('log/sealed-arguments.ts'),
    tests: [at('log/sealed-arguments.test.ts')],
    mutants: [
      { before: "draft?.kind !== 'ActionEvent' || !isMasked(event)", after: "draft?.kind !== 'ActionEvent'" },
      { before: 'if (!state.open_actions.some(({ id }) => id === event.id)) return []', after: '' },
      { before: 'text.length > MAX_CHARS ? [] : ', after: '' },
      { before: 'text: cipher.seal(text)', after: 'text' },
      { before: 'own.conversation !== conversation || ', after: '' },
      { before: ' || own.call !== event.id', after: '' },
      { before: "if (digest !== callDigest(event)) return refused('a secret was changed')", after: '' },
      { before: "open.consent === 'given' && ", after: 'false && ' },
      { before: "event.decision !== 'accept' || ", after: '' },
      { before: '!event.action_ids.includes(id)', after: 'false' },
      { before: 'event.actions === undefined ? null : ', after: 'event.actions === undefined ? undefined : ' },
      { before: 'named === null || named === digest', after: 'named === null' },
    ],
  },
  {
    file: at('commands.ts'),
    tests: [at('commands.test.ts')],
    mutants: [
      { before: "command.run && status !== 'waiting_for_confirmation'", after: 'command.run' },
      { before: "if (runs && status !== 'running') drafts.push", after: 'if (runs) drafts.push' },
      { before: "!runs && (status === 'finished' || status === 'stuck')", after: 'false' },
      { before: "if (status === 'running') throw alreadyRunning()", after: '' },
      { before: "status === 'finished' && !hasHooks(state.hook_config, 'Stop')", after: "status === 'finished'" },
      { before: "status !== 'idle' && status !== 'running' && awaiting", after: "status !== 'running' && awaiting" },
      { before: 'given.length < state.activated_knowledge_skills.length', after: 'false' },
      { before: '  drafts.push(...withoutBlocks(state, left))\n', after: '' },
      { before: "if (status === 'waiting_for_confirmation')\n", after: 'if (false)\n' },
      { before: 'state.has_system_prompt ? [] : preamble', after: 'preamble' },
      { before: 'OPENING.has(kind) && !has_system_prompt', after: 'OPENING.has(kind)' },
    ],
  },
]
