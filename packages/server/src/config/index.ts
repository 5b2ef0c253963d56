export { describeConfig, isLoopback, readConfig, type Config, type ConfigOrigins } from './config.ts'
export { ConfigError } from './error.ts'
export { configFlags } from './settings.ts'
export { secretsOf, serviceKeysOf } from './secrets.ts'
