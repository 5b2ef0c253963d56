/**
 * What a tool may ask of the rest of the server. A tool is made without any of it, so that names and parameters can be checked
 * anywhere; a service that a call needs and the agent does not have is an error the model reads.
 */
export type ToolServices = {}
