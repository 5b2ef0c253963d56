/**
 * Loaded into a server with `--import`: SIGUSR2 causes an uncaught error that contains every canary. `PARLEY_TEST_CRASH` selects
 * its kind.
 */
import { canary, CANARY_NAMES } from './canaries/values.ts'

const secrets = CANARY_NAMES.map(canary).join('\n')

function mistake(): Error {
  const cause = Object.assign(new Error(`the body was ${secrets}`), { code: 'ECONNRESET' })
  return Object.assign(new TypeError(`cannot read ${secrets}`, { cause }), { request: { headers: [secrets] } })
}

const WAYS: Record<string, () => void> = {
  throws: () =>
    setImmediate(() => {
      throw mistake()
    }),
  rejects: () => void Promise.reject(mistake()),
  // oxlint-disable-next-line typescript/prefer-promise-reject-errors -- a thrown value is not always an error
  'rejects with a text': () => void Promise.reject(secrets),
}

process.on('SIGUSR2', WAYS[process.env['PARLEY_TEST_CRASH'] ?? 'throws']!)
