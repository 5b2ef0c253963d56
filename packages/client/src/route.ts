/** The part of an endpoint row that a caller needs at run time; the schemas remain in the types. */
import type { Endpoint } from '@parley/protocol'

/** Method and path of the endpoint `E`. */
export type RouteOf<E extends Endpoint> = {
  readonly method: E['method']
  readonly path: E['path']
  /** Carries the type of the row; never present. */
  readonly row?: E
}
