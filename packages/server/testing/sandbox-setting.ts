/** For servers of tests that are not about the sandbox: starts of processes are faster without it. */
export const withoutSandbox = (env: Readonly<Record<string, string>> = {}): Record<string, string> =>
  env['PARLEY_MODE'] === 'shared' ? {} : { PARLEY_SANDBOX: 'off' }
