/** The pattern analyzer and its time limit. */
import type { MutatedFile } from '../mutant.ts'

const at = (name: string) => `packages/server/src/security/${name}`

export const security: readonly MutatedFile[] = [
  {
    file: at('pattern.ts'),
    tests: [at('pattern.test.ts')],
    mutants: [
      { before: "if (error instanceof TimeBudgetExceeded) return found('UNKNOWN', UNREAD)", after: '' },
      {
        before: "if (error instanceof TimeBudgetExceeded) return found('UNKNOWN', UNREAD)",
        after: "if (error instanceof TimeBudgetExceeded) return found('LOW', UNREAD)",
      },
      { before: '        throw error\n', after: "        return assessmentOf('UNKNOWN')\n" },
      { before: '(await findPattern(lists.high, code, budget)) ??', after: '' },
      { before: 'if (danger !== undefined)', after: 'if (false as boolean)' },
      {
        before: 'if (structure.isUncertain || args.isTruncated || prose.isTruncated)',
        after: 'if (args.isTruncated || prose.isTruncated)',
      },
      { before: '(await findPattern(lists.medium, code, budget)) ??', after: '' },
      {
        before: "if (persistent !== undefined) return found('HIGH', { ...PERSISTENCE, match: persistent })",
        after: '',
      },
      {
        before: 'given === undefined\n    ? (builtIn',
        after: 'true\n    ? (builtIn',
        tests: ['test/guard/lists.test.ts'],
      },
    ],
  },
  {
    file: at('time-budget.ts'),
    tests: [at('pattern.test.ts')],
    mutants: [
      { before: 'if (performance.now() > this.#end)', after: 'if (false)' },
      { before: 'this.#end = performance.now() + limitMs', after: 'this.#end = performance.now() + 1000 * limitMs' },
      { before: 'this.#signal.throwIfAborted()', after: '' },
      { before: 'await this.#slices.next()', after: '' },
    ],
  },
]
