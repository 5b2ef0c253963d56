import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    include: ['packages/**/*.test.ts', 'test/**/*.test.ts'],
    pool: 'threads',
    isolate: false,
    // Much of a test is waiting for other processes.
    maxWorkers: 2,
    testTimeout: 20_000,
    hookTimeout: 20_000,
    env: { TZ: 'UTC' },
    setupFiles: ['./test/canaries/setup.ts'],
    reporters: ['default', './test/reporter.ts'],
  },
})
