/** Opens a pseudo-terminal, runs a shell in it that ends with 7, and resolves to the exit code. @throws when none can be opened. */
export async function probeTerminal(): Promise<number> {
  const { spawn } = await import('@lydell/node-pty')
  const shell = spawn('sh', ['-c', 'exit 7'], { cols: 80, rows: 24 })
  return new Promise((resolve) => shell.onExit(({ exitCode }) => resolve(exitCode)))
}
