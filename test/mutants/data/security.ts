/** The pattern analyzer and its time limit. */
import type { MutatedFile } from '../mutant.ts'

const at = (name: string) => `packages/server/src/security/${name}`

export const security: readonly MutatedFile[] = [
  {
    file: at('pattern.ts'),
    tests: [at('pattern.test.ts')],
    mutants: [
      { before: "if (error instanceof TimeBudgetExceeded) return assessmentOf('UNKNOWN')", after: '' },
      { before: "return assessmentOf('UNKNOWN')", after: "return assessmentOf('LOW')" },
      { before: '        throw error\n', after: "        return assessmentOf('UNKNOWN')\n" },
      { before: "if (await findPattern(lists.high, code, budget)) return 'HIGH'", after: '' },
      { before: "if (structure.found.length > 0) return 'HIGH'", after: '' },
      {
        before: 'if (structure.isUncertain || args.isTruncated || prose.isTruncated)',
        after: 'if (args.isTruncated || prose.isTruncated)',
      },
      { before: "if (await findPattern(lists.medium, code, budget)) return 'MEDIUM'", after: '' },
      {
        before:
          "if (writtenPaths(call.action).some((path) => isPersistenceFile(path, '.'))) return assessmentOf('HIGH')",
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
