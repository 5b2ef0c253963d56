import { mkdirSync, writeFileSync, writeSync } from 'node:fs'
import { dirname } from 'node:path'
import type { Reporter, TestModule, Vitest } from 'vitest/node'
import { recordFacts } from './facts.ts'

export type Tally = {
  readonly files: number
  readonly passed: number
  readonly failed: number
  readonly skipped: number
}

/** Counts tests. A file that could not be loaded, a broken hook and an error outside of any test count as one failure each. */
export function tally(modules: readonly TestModule[], errorsOutside: number): Tally {
  const tests = modules.flatMap((module) => [...module.children.allTests()])
  const count = (state: string) => tests.filter((test) => test.result().state === state).length
  const broken = modules
    .flatMap((module) => [module, ...module.children.allSuites()])
    .filter((part) => part.errors().length > 0)
  return {
    files: modules.length,
    passed: count('passed'),
    failed: count('failed') + broken.length + errorsOutside,
    skipped: count('skipped'),
  }
}

/** Failures with file, test and reason. An error outside the tests of a file or suite counts as one failure of it. */
export function failures(modules: readonly TestModule[]): { file: string; name: string; why: string }[] {
  return modules.flatMap((module) => {
    const tests = [...module.children.allTests()].filter((test) => test.result().state === 'failed')
    const broken = [module, ...module.children.allSuites()].filter((part) => part.errors().length > 0)
    const file = module.relativeModuleId
    return [
      ...broken.map((part) => ({ file, name: 'outside its tests', why: part.errors()[0]?.message ?? '' })),
      ...tests.map((test) => ({ file, name: test.fullName, why: test.result().errors?.[0]?.message ?? '' })),
    ]
  })
}

/** `12 passed, 0 failed`, with `, 1 skipped` when there is one. */
export const finalLine = ({ passed, failed, skipped }: Tally): string =>
  `${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ''}`

/**
 * Prints one plain line at the end of a run, and records the figures of a whole run, not those of a selection.
 * A default export, because vitest loads that.
 */
export default class FactsReporter implements Reporter {
  readonly #folder: string | undefined
  #vitest: Vitest | undefined
  #startedAt = performance.now()

  constructor(options: { folder?: string } = {}) {
    this.#folder = options.folder
  }

  onInit(vitest: Vitest): void {
    this.#vitest = vitest
  }

  onTestRunStart(): void {
    this.#startedAt = performance.now()
  }

  async onTestRunEnd(modules: readonly TestModule[], errors: readonly unknown[]): Promise<void> {
    const figures = tally(modules, errors.length)
    const seconds = Math.round((performance.now() - this.#startedAt) / 100) / 10
    const existing = await this.#vitest?.globTestSpecifications()
    const isWhole = existing?.length === modules.length && this.#vitest?.getGlobalTestNamePattern() === undefined
    if (isWhole) recordFacts('tests', { ...figures, seconds, measured_at: new Date().toISOString() }, this.#folder)
    // scripts/run-tests.cjs repeats the failures in isolation.
    const report = process.env.PARLEY_TEST_REPORT
    if (report !== undefined && report !== '') {
      mkdirSync(dirname(report), { recursive: true })
      writeFileSync(
        report,
        JSON.stringify({ ...figures, outside: errors.length, failures: failures(modules) }, null, 2),
      )
    }
    // scripts/run-tests.cjs names the failed checks here, so that they stand at the end of the output.
    const failedChecks = process.env.PARLEY_FAILED_CHECKS
    writeSync(1, `${failedChecks ? `checks failed: ${failedChecks}\n` : ''}${finalLine(figures)}\n`)
  }
}
