/** Next leaves both libraries as they are: they stay out of its bundles. */
export default { serverExternalPackages: ['holdfast', 'ioredis'] }
