/** The door of this room. */
export { ConfigError, describeConfig, isLoopback, readConfig, type Config, type ConfigOrigins } from './config.ts'
