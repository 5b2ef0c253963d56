/** The runner: outputs of commands, and what it begins. */
import type { MutatedFile } from '../mutant.ts'

const at = (name: string) => `packages/server/src/workspace/runner/${name}`

export const runner: readonly MutatedFile[] = [
  {
    file: at('ledger/bounded-output.ts'),
    tests: [at('ledger/bounded-output.test.ts')],
    mutants: [
      {
        before: 'if (data.length === 0) return',
        after: '',
        survives: { reason: 'equivalent', why: 'an empty piece changes nothing' },
      },
      { before: '<= Math.min(INLINE_BYTES, this.#maxBytes)', after: '<= INLINE_BYTES' },
      { before: 'this.#inline.push(Buffer.from(data))', after: 'this.#inline.push(data)' },
      { before: '    this.#total = 0\n    try {', after: '    try {' },
      { before: 'from = Math.min(free, data.length)', after: 'from = data.length' },
      {
        before: 'Math.max(0, data.length - from - this.#half)',
        after: '0',
        survives: { reason: 'cost', why: 'bytes that are overwritten at once are written' },
      },
      { before: 'Math.min(data.length - from, this.#half - at)', after: 'data.length - from' },
      { before: 'dropped: sealed.total + lost }', after: 'dropped: lost }' },
      {
        before: 'if (behind <= half) return',
        after: 'if (behind < half) return',
        survives: { reason: 'equivalent', why: 'a full ring that begins at 0 reads the same' },
      },
      { before: 'dropped: behind - half', after: 'dropped: behind' },
      { before: '[readAt(fd, half + at, half - at), readAt(fd, half, at)]', after: '[readAt(fd, half, half)]' },
      { before: "if (sealed.kind === 'file') rmSync", after: 'if (false) rmSync' },
      { before: 'needed > back ? bytes.subarray(0, bytes.length - back) : bytes', after: 'bytes' },
      { before: '=== 0x80) from += 1', after: '=== 0x80) from += 0 + 4' },
      { before: "(error as NodeJS.ErrnoException).code === 'ENOENT'", after: 'false' },
    ],
  },
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
    ],
  },
  {
    file: at('conversation-processes.ts'),
    tests: [at('conversation-processes.test.ts')],
    mutants: [
      { before: 'return notStarted(program)\n    this.#refuseReleased()', after: 'return notStarted(program)' },
      { before: "    this.#refuseReleased()\n    const child = 'reason'", after: "    const child = 'reason'" },
    ],
  },
  {
    file: at('pipes.ts'),
    tests: [at('conversation-processes.test.ts')],
    mutants: [
      {
        before: '      record(exit)\n      this.#exit = exit\n      this.#sendExit()',
        after: '      this.#exit = exit\n      this.#sendExit()\n      record(exit)',
      },
    ],
  },
]
