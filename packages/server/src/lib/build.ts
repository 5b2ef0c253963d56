/** Identifies the build: a digest of the sources of server and web UI, which the bundle puts in place of this text. */
export const BUILD: string = 'sources'
