/**
 * Three forms of one test. `npm test` runs the short form of every test; `npm run test:campaign` runs the files named
 * `*.campaign.test.ts` with a time budget; `npm run test:soak` runs them for longer, and `*.soak.test.ts` too.
 */

export type Form = 'test' | 'campaign' | 'soak'

const FORMS: readonly string[] = ['test', 'campaign', 'soak'] satisfies Form[]

/** The form of this run: `PARLEY_TEST_FORM`, `test` when it is absent. @throws Error for another value. */
export const form: Form = formOf(process.env['PARLEY_TEST_FORM'])

/** The value for the form of this run; a soak without a value of its own uses that of the campaign. */
export function byForm<T>({ test, campaign, soak }: { test: T; campaign: T; soak?: T }): T {
  if (form === 'test') return test
  return form === 'soak' && soak !== undefined ? soak : campaign
}

/** Milliseconds that a test may take whose budget is `seconds`: the budget, and time to start servers and finish the last run. */
export const timeoutFor = (seconds: number): number => seconds * 1000 + 120_000

export type Campaign = {
  /** No new seed begins after this time. */
  seconds: number
  /** Seeds that are played whatever the time, so that a slow machine does not make the test empty. */
  least?: number
  /** Seeds that are played at the same time; default 1. */
  atOnce?: number
  /** With it, seeds are played until it returns true, whatever the time. */
  isEnough?: () => boolean
}

/**
 * Plays seeds 1, 2, 3, … until the budget is used; returns how many were played. `PARLEY_TEST_SEED` names another first seed, so that
 * a failure, whose message names its seed, can be repeated alone.
 * @throws the error of the first seed that fails, after the seeds at work have ended.
 */
export async function forSeeds(
  { seconds, least = 1, atOnce = 1, isEnough }: Campaign,
  play: (seed: number) => Promise<void> | void,
): Promise<number> {
  const first = Number(process.env['PARLEY_TEST_SEED'] ?? 1)
  const endsAt = performance.now() + seconds * 1000
  const isOver = isEnough ?? (() => performance.now() >= endsAt)
  let next = first
  let failure: { error: unknown } | null = null
  const worker = async (): Promise<void> => {
    while (failure === null && (!isOver() || next < first + least)) {
      const seed = next++
      try {
        await play(seed)
      } catch (error) {
        const message = error instanceof Error ? error.message : String(error)
        failure ??= { error: new Error(`seed ${seed}: ${message}`, { cause: error }) }
      }
    }
  }
  await Promise.all(Array.from({ length: atOnce }, worker))
  // The compiler does not see the assignment in `worker`.
  const failed = failure as { error: unknown } | null
  if (failed !== null) throw failed.error
  return next - first
}

function formOf(value: string | undefined): Form {
  if (value === undefined || value === '') return 'test'
  if (!FORMS.includes(value)) throw new Error(`PARLEY_TEST_FORM is "${value}"; known are ${FORMS.join(', ')}`)
  return value as Form
}
