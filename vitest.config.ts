import { configDefaults, defineConfig } from 'vitest/config'
import { form, timeoutFor } from './packages/server/testing/campaign.ts'
import { postgresFiles, SHORT } from './test/postgres/files.ts'

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
}
const selected = selections[process.env['PARLEY_TEST_SELECTION'] ?? '']

export default defineConfig({
  test: {
    ...files[form],
    ...(selected === undefined ? {} : { include: [...selected] }),
    pool: 'threads',
    isolate: false,
    // Most of a test is waiting for other processes. A campaign has the machine for itself.
    maxWorkers: form === 'test' ? 2 : 1,
    testTimeout: form === 'test' ? 20_000 : timeoutFor(3600),
    hookTimeout: form === 'test' ? 20_000 : 60_000,
    env: { TZ: 'UTC' },
    globalSetup: ['./test/bundled-server.ts'],
    setupFiles: ['./test/canaries/setup.ts'],
    reporters: ['default', './test/reporter.ts'],
  },
})
