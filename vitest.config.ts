import { configDefaults, defineConfig, type Plugin } from 'vitest/config'
import { form, timeoutFor } from './packages/server/testing/campaign.ts'
import { STARTED } from './rolldown.config.ts'
import { filesOnNodes, postgresFiles, SHORT, SHORT_ON_NODES } from './test/postgres/files.ts'

const all = ['packages/**/*.test.ts', 'test/**/*.test.ts', 'bench/**/*.test.ts']
const campaigns = ['packages/**/*.campaign.test.ts', 'test/**/*.campaign.test.ts']
const soaks = ['packages/**/*.soak.test.ts', 'test/**/*.soak.test.ts']

/** Files of each form; `npm test` runs the campaigns in their short form and leaves the soak tests out. */
const files = {
  test: { include: all, exclude: [...configDefaults.exclude, ...soaks] },
  campaign: { include: campaigns },
  soak: { include: [...campaigns, ...soaks] },
}

/** The tests of `npm run test:postgres`, and its short form, instead. */
const selections: Record<string, readonly string[] | undefined> = {
  postgres: postgresFiles(),
  'postgres-short': SHORT.map((file) => `test/${file}`),
  nodes: filesOnNodes(),
  'nodes-short': SHORT_ON_NODES.map((file) => `test/${file}`),
}
/** Milliseconds; three nodes start where otherwise one server does. */
const shortTimeout = Number(process.env['PARLEY_TEST_NODES'] ?? 1) > 1 ? 60_000 : 20_000
const selected = selections[process.env['PARLEY_TEST_SELECTION'] ?? '']

/**
 * Servers within a test start the bundled runner, and not its sources, which Node would read and compile again with every start: that
 * takes twice the processor time. The folder is read when the program starts, because vitest keeps what this returns for later runs.
 */
const bundledStarts: Plugin = {
  name: 'parley-test-starts',
  enforce: 'pre',
  transform(code, id) {
    const started = STARTED.find(({ by }) => id.endsWith(by))
    if (started === undefined) return null
    const quoted = `new URL('${started.source}', import.meta.url)`
    if (!code.includes(quoted)) throw new Error(`${started.by} does not start ${started.source}`)
    return code.replace(quoted, `new URL('${started.file}', process.env.PARLEY_TEST_STARTS)`)
  },
}

export default defineConfig({
  plugins: [bundledStarts],
  test: {
    ...files[form],
    ...(selected === undefined ? {} : { include: [...selected] }),
    pool: 'threads',
    isolate: false,
    // Most of a test is waiting for other processes. A campaign has the machine for itself.
    maxWorkers: form === 'test' ? 3 : 1,
    testTimeout: form === 'test' ? shortTimeout : timeoutFor(3600),
    hookTimeout: form === 'test' ? shortTimeout : 60_000,
    env: { TZ: 'UTC' },
    globalSetup: ['./test/bundled-server.ts'],
    setupFiles: ['./test/canaries/setup.ts'],
    reporters: ['default', './test/reporter.ts'],
  },
})
