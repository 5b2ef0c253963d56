/** The runner: what it begins, refuses and ends, and what it records. */
import type { MutatedFile } from '../mutant.ts'
import { callLedger } from './call-ledger.ts'

const at = (name: string) => `packages/server/src/workspace/runner/${name}`
const records = [at('conversation-processes.test.ts')]
const repeated = [at('repeated-calls.test.ts')]
const ends = [at('process-ends.test.ts')]
/** Starts servers. */
const servers = ['packages/server/src/workspace/durability.test.ts']

export const runner: readonly MutatedFile[] = [
  ...callLedger,
  {
    file: at('runner.ts'),
    tests: [at('runner.test.ts')],
    mutants: [
      {
        before: "    this.#admit(conversation, request.epoch)\n    if (request.op === 'interrupt')",
        after: "    if (request.op === 'interrupt')",
      },
      { before: 'if (this.#isEnding) return\n    this.#open', after: 'this.#open' },
      { before: '    if (!reply.isOpen) return\n', after: '' },
      { before: '    await this.#swept\n', after: '' },
      { before: 'if (epoch < newest) {', after: 'if (false) {' },
      { before: '    ledger.claim(conversation, epoch)\n', after: '' },
      { before: 'this.#conversations.get(conversation)?.fence(epoch)', after: 'void epoch' },
      { before: '    await this.#releasing.get(conversation)\n', after: '' },
      { before: 'for (const processes of this.#conversations.values()) processes.leave(reply)', after: '' },
      { before: 'for (const processes of this.#conversations.values()) processes.detach(connection)', after: '' },
      { before: "reply.refuse('unavailable', 'the runner was told to end')", after: 'void reply' },
      { before: 'if (this.#hasStarted) await endProcesses(', after: 'if (false) await endProcesses(' },
      { before: 'if (!hasWork) this.#idle ??=', after: 'this.#idle ??=' },
      {
        before: 'if (this.#connections.size === 0) this.#orphaned',
        after: 'if (false) this.#orphaned',
        tests: servers,
      },
      {
        before: 'if (this.#isUnreachable && this.#connections.size === 0) return void this.end()',
        after: '',
        tests: servers,
      },
    ],
  },
  {
    file: at('conversation-processes.ts'),
    tests: ends,
    mutants: [
      {
        before: "if (!('reason' in program)) this.#refuseReleased()",
        after: '',
        tests: records,
      },
      {
        before: "      this.#refuseReleased()\n    })\n    const child = 'reason'",
        after: "    })\n    const child = 'reason'",
        tests: records,
      },
      {
        before: 'if (running.call !== null) await ledger.begin',
        after: 'if (running.call !== null) void ledger.begin',
        tests: records,
      },
      {
        before: 'if (call !== null) await ledger.begin',
        after: 'if (call !== null) void ledger.begin',
        tests: records,
      },
      {
        before: 'ledger.end(this.#conversation, call, result)\n      replyAll(running.waiting, ledger, result)',
        after:
          '{\n        replyAll(running.waiting, ledger, result)\n        ledger.end(this.#conversation, call, result)\n      }',
        tests: records,
      },
      { before: 'if (under !== undefined) {', after: 'if (false) {', tests: repeated },
      { before: "if (known !== null && known !== 'running') return", after: 'if (false) return', tests: repeated },
      {
        before: 'if (under === undefined) throw',
        after: 'if (under === undefined) return null\n    if (false) throw',
        tests: repeated,
      },
      { before: 'if (call !== null && this.#known(call) !== null)\n', after: 'if (false)\n', tests: repeated },
      {
        before: 'if (call !== null) ledger.end(this.#conversation, call, notStarted(child))',
        after: '',
        tests: repeated,
      },
      { before: 'if (running.waiting.size === 0 && running.call === null) void running.exec.end()', after: '' },
      {
        before: 'running.waiting.size === 0 && running.call === null) void running.exec?.end()',
        after: 'running.waiting.size === 0) void running.exec?.end()',
      },
      { before: 'if (!pipes.isHeldBy(holder)) continue', after: '' },
      { before: 'if (call === null) void endProcesses', after: 'if (false) void endProcesses' },
      { before: 'if (call === null) discardResult', after: 'if (false) discardResult' },
      { before: 'if (reply.epoch >= epoch) continue', after: '' },
      { before: 'if (exec !== null) leaders.add(exec.pid)', after: 'void exec' },
      { before: 'leaders.add(pipes.pid)\n', after: 'void pipes\n' },
      { before: 'if (shell !== null) leaders.add(shell)', after: '' },
      { before: 'this.#terminal?.close()', after: '', tests: records },
      { before: 'ledger.release(this.#conversation)', after: 'void ledger' },
    ],
  },
  {
    file: at('exec.ts'),
    tests: ends,
    mutants: [
      {
        before: 'const stdout = new BoundedOutput(outputs, spec.maxBytes)',
        after: 'const stdout = new BoundedOutput(outputs, 2 ** 30)',
      },
      { before: 'this.#isTimedOut = true\n    await this.end()', after: 'this.#isTimedOut = true' },
      { before: 'if (silentMs >= DRAIN_MS) closed.resolve()', after: 'if (false) closed.resolve()' },
    ],
  },
  {
    file: at('pipes.ts'),
    tests: ends,
    mutants: [
      {
        before: '      record(exit)\n      this.#exit = exit\n      this.#sendExit()',
        after: '      this.#exit = exit\n      this.#sendExit()\n      record(exit)',
        tests: records,
      },
      { before: 'this.#holder = null\n    this.#child.stdout?.pause()', after: 'this.#holder = null' },
    ],
  },
  {
    file: at('terminal/terminal.ts'),
    tests: [at('terminal/terminal.test.ts')],
    mutants: [
      {
        before: 'this.#opening.then(() => this.#open(spec, reply))',
        after: 'this.#open(spec, reply)',
        tests: repeated,
      },
      { before: "if (known.state === 'exited') {", after: 'if (false) {', tests: repeated },
      { before: 'if (this.#current?.spec.callId === spec.callId) {', after: 'if (false) {', tests: repeated },
      { before: 'await ledger.begin(conversation', after: 'void ledger.begin(conversation', tests: records },
      {
        before:
          'ledger.end(conversation, call.spec.callId, result)\n    for (const reply of waiting) replyTerminal(reply, ledger.outputs, result)',
        after:
          'for (const reply of waiting) replyTerminal(reply, ledger.outputs, result)\n    ledger.end(conversation, call.spec.callId, result)',
        tests: records,
      },
      { before: 'if (refusal !== null) return', after: 'if (false) return' },
      { before: '    if (!reply.isOpen) return\n', after: '' },
      { before: 'this.#epoch = epoch', after: 'void epoch' },
      {
        before: 'for (const reply of waiting) if (this.#refuseStale(reply)) this.leave(reply)',
        after: '',
        tests: ends,
      },
    ],
  },
  {
    file: at('terminal/terminal-call.ts'),
    tests: [at('terminal/terminal-call.test.ts')],
    mutants: [
      { before: 'if (this.#remainingMs() > 0) return this.#arm()', after: '' },
      { before: 'if (this.#waiting.size === 0) return\n    if (this.#remainingMs', after: 'if (this.#remainingMs' },
      {
        before: 'if (this.#waiting.size === 0) return\n    const dueMs',
        after: 'const dueMs',
        survives: { reason: 'cost', why: 'a timer is set that finds no waiting call' },
      },
      { before: 'Math.max(this.#attendedAt, this.#deps.lastOutputAt())', after: 'this.#attendedAt' },
      { before: 'Math.max(this.#attendedAt, this.#deps.lastOutputAt())', after: 'this.#deps.lastOutputAt()' },
      { before: ': this.#begunAt\n', after: ': this.#attendedAt\n' },
    ],
  },
  {
    file: at('terminal/current-shell.ts'),
    tests: [at('terminal/terminal.test.ts')],
    mutants: [{ before: 'if (this.#isClosed) {', after: 'if (false) {' }],
  },
  {
    file: at('groups/process-groups.ts'),
    tests: [at('groups/cgroup.test.ts')],
    mutants: [
      { before: '    } finally {\n      this.#leave()', after: '    } finally {\n      void 0' },
      { before: '      enterGroup(own)\n      enableLimits(own)', after: '      enableLimits(own)' },
      { before: 'writeFileSync(join(listOf(this.#home), name), path, { mode: 0o600 })', after: '' },
      { before: 'path !== null && basename(path) === name', after: 'path !== null' },
      { before: 'if (removeGroup(group)) rmSync', after: 'rmSync' },
      { before: ".code === 'ENOENT') return null", after: ".code === 'ENOENT_') return null" },
    ],
  },
  {
    file: at('groups/cgroup.ts'),
    tests: [at('groups/cgroup.test.ts')],
    mutants: [
      { before: 'if (Number(line) > 0) found', after: 'found' },
      { before: 'for (const pid of membersOf(below)) found.add(pid)', after: 'void below' },
      { before: 'for (const below of groupsIn(group)) removeGroup(below)', after: '' },
    ],
  },
  {
    file: at('process-tree.ts'),
    tests: [at('process-tree.test.ts'), at('runner.test.ts')],
    mutants: [
      {
        before: "if (elapsedMs > GRACE_MS) sendSignal(pid, 'SIGKILL')",
        after: "if (elapsedMs > GRACE_MS) sendSignal(pid, 'SIGTERM')",
      },
    ],
  },
  {
    file: 'packages/server/src/workspace/not-recorded.ts',
    tests: ['packages/server/src/workspace/full-disk.test.ts'],
    mutants: [
      { before: 'if (!isNotRecorded(error)) throw error', after: 'throw error' },
      { before: 'performance.now() - begun >= limitMs', after: 'false' },
    ],
  },
]
