/** A value that cannot be used. The message names the flag, variable or member that held it, and the way out. */
export class ConfigError extends Error {
  constructor(message: string, options: { cause?: unknown } = {}) {
    super(message, options)
    this.name = 'ConfigError'
  }
}
